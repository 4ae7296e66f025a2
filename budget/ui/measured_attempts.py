"""The attempts on *Measurements*: what each serves, why, and a person's word on one of them."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from budget import workflow
from budget.attempts import Attempt
from budget.figures import Source
from budget.messages import msg
from budget.ui import (
    figure,
    measured_errors,
    measured_layers,
    measured_ranks,
    measured_word,
    page,
)
from budget.ui.page import View
from budget.ui.timeline import OUTCOMES

PHASE_PX = 110
"""A time fits; why one is missing is read by opening the cell, and below the table."""


def draw(view: View) -> None:
    """Draw the table of attempts and, below it, the one that is picked."""
    attempts = view.result.measurements.attempts
    st.subheader(view.t("Attempts"), anchor=False)
    if not attempts:
        st.markdown(view.t("The logs hold no attempt."))
        return
    st.caption(view.t("Pick a row to see its condition, and to assign or exclude it."))
    ids = [item.id for item in attempts]
    before = st.session_state.get(page.PICKED)
    event = st.dataframe(
        _columns(view),
        hide_index=True,
        key=view.key("attempts"),
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [ids.index(before)] if before in ids else []}},
        column_config={
            view.t(name): st.column_config.TextColumn(width=PHASE_PX)
            for name in ("prepare", "load", "run")
        },
        alt=view.t("Attempts with their outcome, times, peak memory and the block they serve"),
    )
    rows = event["selection"]["rows"]
    if not rows:
        st.session_state.pop(page.PICKED, None)
        return
    st.session_state[page.PICKED] = ids[rows[0]]
    _detail(view, attempts[rows[0]])


def _columns(view: View) -> dict[str, list[str]]:
    attempts = view.result.measurements.attempts
    services = [view.result.service(item.id) for item in attempts]

    def seconds(value: float | None) -> str:
        return view.t("not recorded") if value is None else view.words.quantity(value, "s")

    def phase(item: Attempt, name: str) -> str:
        value = item.phase_s(name)
        if value is None:
            return view.words.text(measured_layers.no_phase(item, name))
        return view.words.quantity(value, "s")

    return {
        view.t("attempt"): [item.id for item in attempts],
        view.t("label"): [item.block or view.t("no label") for item in attempts],
        view.t("outcome"): [view.words.text(OUTCOMES[item.outcome]) for item in attempts],
        view.t("serves"): [measured_word.serves(view, item) for item in services],
        view.t("prepare"): [phase(item, "prepare") for item in attempts],
        view.t("load"): [phase(item, "load") for item in attempts],
        view.t("run"): [phase(item, "run") for item in attempts],
        view.t("wall"): [seconds(item.duration_s) for item in attempts],
        view.t("peak"): [figure.cell(workflow.peak(item).figure, view.words) for item in attempts],
        view.t("why"): [view.words.text(item.why) for item in services],
        view.t("line"): [_where(item.source) for item in attempts],
    }


def _detail(view: View, attempt: Attempt) -> None:
    service = view.result.service(attempt.id)
    with st.container(border=True, key="attempt"):
        with st.container(horizontal=True, vertical_alignment="center"):
            name = page.plain(f"{attempt.id} {attempt.block or ''}".strip())
            st.markdown(f"#### {name}", anchors=False, width="content")
            fine = attempt.outcome == "ok"
            st.badge(
                view.words.text(OUTCOMES[attempt.outcome]),
                icon=":material/check_circle:" if fine else ":material/cancel:",
                color="green" if fine else "red",
            )
            for text, icon, colour in _marks(view, attempt):
                st.badge(text, icon=icon, color=colour)
        measured_word.said(view, service)
        for failure in attempt.failures:
            measured_errors.one(view, failure)
        measured_ranks.draw(view, attempt)
        left, right = st.columns(2, gap="medium")
        with left:
            measured_layers.figures(view, attempt)
        with right:
            _differences(view, attempt)
            _results(view, attempt)
        measured_layers.devices(view, attempt)
        _seen_changes(view, attempt)
        _condition(view, attempt)
        measured_word.form(view, attempt, service)


def _marks(view: View, attempt: Attempt) -> Iterator[tuple[str, str, figure.Colour]]:
    """Yield what else there is to know of an attempt at a glance: word, icon, colour."""
    if attempt.timed_out:
        yield view.t("time limit reached"), ":material/timer_off:", "red"
    if attempt.without_run:
        yield view.t("preparation, no run"), ":material/inventory_2:", "gray"
    if attempt.repeat:
        number, of = attempt.repeat.number, attempt.repeat.of
        yield view.t("{number} of {of}", number=number, of=of), ":material/repeat:", "gray"
    if attempt.retry_of:
        yield view.t("retry of {id}", id=attempt.retry_of), ":material/replay:", "gray"
    if len(attempt.ranks) > 1:
        yield view.t("{count} ranks", count=len(attempt.ranks)), ":material/hub:", "gray"
    if attempt.hook == "not-loaded":
        yield view.t("hook not loaded"), ":material/visibility_off:", "orange"


def _condition(view: View, attempt: Attempt) -> None:
    intended, code, software = attempt.intended, attempt.code, attempt.software
    rows = {
        view.t("model"): intended.model,
        view.t("input tokens"): intended.input_tokens,
        view.t("output tokens"): intended.output_tokens,
        view.t("batch size"): intended.batch_size,
        view.t("parameters"): dict(intended.parameters) or None,
        view.t("commit"): code.commit and code.commit[:12],
        view.t("local changes"): code.dirty,
        view.t("torch"): software and software.torch,
        view.t("CUDA"): software and (software.cuda or (software.torch and msg("none"))),
        view.t("GPUs"): tuple(gpu.name or msg("unnamed") for gpu in attempt.host.gpus)
        or attempt.host.gpus_why,
        view.t("variables"): dict(attempt.variables) or None,
    }
    st.markdown(f"**{view.t('Condition')}**")
    st.markdown(
        "  \n".join(
            f":gray[{head}] {page.plain(view.words.text(value))}"
            for head, value in rows.items()
            if value is not None or head != view.t("variables")
        )
    )
    st.code(" ".join(attempt.argv), language=None, wrap_lines=True)
    st.caption(page.plain(_where(attempt.source)))


def _differences(view: View, attempt: Attempt) -> None:
    """Draw every field that differs from the nearest block, whatever a person said."""
    found = workflow.by_condition(view.result, attempt.id)
    st.markdown(f"**{view.t('Against the plan')}**")
    if found.block is not None:
        block = page.plain(found.block)
        st.markdown(view.t("It has the condition of {block}.", block=block))
        return
    if found.nearest is None or not found.differences:
        st.markdown(page.plain(view.words.text(found.why)))
        return
    nearest = page.plain(found.nearest)
    st.markdown(view.t("The nearest block is {block}; these fields are in the way:", block=nearest))
    st.table(
        {
            view.t("field"): [view.t(item.field) for item in found.differences],
            view.t("planned"): [
                page.plain(view.words.text(item.wanted)) for item in found.differences
            ],
            view.t("measured"): [
                page.plain(view.words.text(item.found)) for item in found.differences
            ],
        },
        hide_index=True,
        border="horizontal",
    )


def _results(view: View, attempt: Attempt) -> None:
    """Draw what the program reported beside what the paper states; neither is judged here."""
    st.markdown(f"**{view.t('Results')}**")
    judged = attempt.judged_results()
    if not judged:
        st.markdown(view.t("none recorded"))
        return
    st.table(
        {
            view.t("result"): [page.plain(item.name) for item, _ in judged],
            view.t("value"): [
                view.t("not reported")
                if item.value is None
                else page.plain(f"{view.words.text(item.value)} {item.unit or ''}".strip())
                for item, _ in judged
            ],
            view.t("expected"): [page.plain(view.words.text(expected)) for _, expected in judged],
        },
        hide_index=True,
        border="horizontal",
    )


def _seen_changes(view: View, attempt: Attempt) -> None:
    """Draw what the hook saw change between two calls: then one attempt holds two conditions."""
    session = view.result.measurements.session(attempt.session)
    changes = [
        item
        for item in (session.changes if session else ())
        if item.layer == "hook" and item.attempt == attempt.id
    ]
    for item in changes:
        text = view.t(
            "{what} changed from {before} to {after} between two calls",
            what=item.what,
            before=item.before,
            after=item.after,
        )
        st.markdown(f":orange[:material/swap_horiz:] {page.plain(text)}")


def _where(source: Source) -> str:
    return f"{source.name}:{source.line}" if source.line is not None else source.name
