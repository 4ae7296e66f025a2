"""The errors on *Measurements*: what went wrong, the line that says so, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import streamlit as st

from budget.attempts import Attempt, Failure
from budget.failures import cause_of, line_of
from budget.messages import msg
from budget.ui import page
from budget.ui.page import View

MOST_SHOWN = 4
"""Kinds of error shown openly; further ones are folded away."""


class Kind(msgspec.Struct, frozen=True):
    """Errors that mean the same, the latest last."""

    title: str | None
    advice: str | None
    errors: tuple[tuple[Attempt, Failure], ...]


def draw(view: View) -> None:
    """Draw every kind of error of the logs once, the latest first; nothing where none happened."""
    kinds = gathered(view.result.measurements.attempts)
    if not kinds:
        return
    st.subheader(view.t("Errors"), anchor=False)
    for number, kind in enumerate(kinds[:MOST_SHOWN]):
        _card(view, kind, number)
    if len(kinds) > MOST_SHOWN:
        with st.expander(
            view.t("{count} more kinds of error", count=len(kinds) - MOST_SHOWN), type="compact"
        ):
            for number, kind in enumerate(kinds[MOST_SHOWN:], MOST_SHOWN):
                _card(view, kind, number)


def gathered(attempts: Sequence[Attempt]) -> list[Kind]:
    """Return errors by their cause, those without one by their signature, the latest kind first."""
    groups: dict[str, list[tuple[Attempt, Failure]]] = {}
    for attempt in attempts:
        for failure in attempt.failures:
            cause = cause_of(failure)
            key = f"cause {cause.id}" if cause else f"{failure.kind} {failure.signature}"
            groups.setdefault(key, []).append((attempt, failure))
    kinds = []
    for errors in groups.values():
        cause = cause_of(errors[-1][1])
        kinds.append(
            Kind(cause.title if cause else None, cause.advice if cause else None, tuple(errors))
        )
    order = {attempt.id: number for number, attempt in enumerate(attempts)}
    return sorted(kinds, key=lambda kind: -order[kind.errors[-1][0].id])


def one(view: View, failure: Failure) -> None:
    """Draw one error of an attempt: what it means, its line, what to do, the whole message."""
    cause = cause_of(failure)
    title = page.plain(cause.title if cause else failure.kind)
    where = [page.plain(failure.kind)] if cause else []
    where.append(
        view.t("in {phase}", phase=msg(failure.phase)) if failure.phase else view.t("in no phase")
    )
    if failure.rank is not None:
        where.append(view.t("rank {rank}", rank=failure.rank))
    if failure.layer:
        where.append(view.t("seen by {layer}", layer=failure.layer))
    st.markdown(f":red[:material/error:] **{title}** :small[:gray[{', '.join(where)}]]")
    _quote(view, failure)
    if cause:
        st.markdown(f":material/lightbulb: {cause.advice}")


def _card(view: View, kind: Kind, number: int) -> None:
    attempt, failure = kind.errors[-1]
    with st.container(border=True, key=f"error-{number}"):
        title = page.plain(kind.title or failure.kind)
        count = len({item.id for item, _ in kind.errors})
        times = view.t("1 attempt") if count == 1 else view.t("{count} attempts", count=count)
        labels = tuple(dict.fromkeys(item.block or msg("no label") for item, _ in kind.errors))
        of = view.t("{times} of {labels}", times=times, labels=labels)
        st.markdown(f":red[:material/error:] **{title}** :small[:gray[{page.plain(of)}]]")
        _quote(view, failure)
        if kind.advice:
            st.markdown(f":material/lightbulb: {kind.advice}")
        else:
            st.markdown(view.t("No known cause. Read the whole message, and note what you change."))
        later = _later(view, attempt)
        if later:
            st.markdown(f":green[:material/check_circle:] {later}")


def _quote(view: View, failure: Failure) -> None:
    text = failure.text or failure.signature or view.t("no text")
    line = line_of(failure)
    st.code(line or text, language=None, wrap_lines=True)
    source = failure.source
    where = f"{source.name}:{source.line}" if source.line is not None else source.name
    if line and text.strip() != line.strip():
        with st.expander(view.t("The whole message, {where}", where=where), type="compact"):
            st.code(text, language=None, wrap_lines=True)
            st.caption(page.plain(where))
    else:
        st.caption(page.plain(where))


def _later(view: View, attempt: Attempt) -> str:
    """Return the attempt of the same label that succeeded afterwards, in words."""
    attempts = view.result.measurements.attempts
    after = attempts[attempts.index(attempt) + 1 :]
    good = next((item for item in after if item.block == attempt.block and item.succeeded), None)
    if good is None:
        return ""
    return page.plain(
        view.t(
            "Attempt {attempt} of {label} succeeded afterwards.",
            attempt=good.id,
            label=good.block or msg("no label"),
        )
    )
