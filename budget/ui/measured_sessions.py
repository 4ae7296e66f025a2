"""The sessions on *Measurements*: where the reserved time went, and what they count as."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import streamlit as st

from budget.attempts import Session
from budget.figures import Figure, Source
from budget.messages import Message, Quantity, msg
from budget.sessions import allocations
from budget.spending import SessionHours
from budget.ui import figure, page
from budget.ui.measured_timeline import session_name
from budget.ui.page import View

MOST_SHOWN = 6
"""Sessions shown openly, the newest; earlier ones are folded away."""


def draw(view: View) -> None:
    """Draw what was reserved in all, then every session with where its time went."""
    spent, found = view.result.spending, view.result.measurements.sessions
    st.subheader(view.t("Sessions"), anchor=False)
    if not found:
        st.markdown(view.t("The logs name no session: nothing says what was reserved."))
        return
    left, right, _ = st.columns(3)
    with left:
        closed = all(session.closed for session in found)
        label = view.t("Reserved in all") if closed else view.t("Reserved in all, at least")
        figure.draw(spent.reserved_h, label, view.words, key="reserved")
    with right:
        figure.draw(spent.gpu_hours, view.t("GPU-hours reserved"), view.words, key="gpu-hours")
    counted = allocations(found, view.project.policy.session_merge_h)
    reserved = {item.id: _reserved(view, item) for item in found}
    rows = {row.session: row for row in spent.sessions}
    newest = found[::-1]
    for session in newest[:MOST_SHOWN]:
        _card(view, session, rows[session.id], reserved[session.id], counted)
    if len(newest) > MOST_SHOWN:
        earlier = newest[MOST_SHOWN:]
        with st.expander(view.t("{count} earlier sessions", count=len(earlier)), type="compact"):
            for session in earlier:
                _card(view, session, rows[session.id], reserved[session.id], counted)


def _reserved(view: View, session: Session) -> Figure:
    index = view.result.measurements.sessions.index(session)
    return view.result.spending.reserved_h.inputs[index].figure


def _card(
    view: View,
    session: Session,
    row: SessionHours,
    reserved: Figure,
    counted: Mapping[str, str],
) -> None:
    with st.container(border=True, key=f"session-{session.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{page.plain(session_name(view, session))}**", width="content")
            if session.closed:
                st.badge(view.t("closed"), icon=":material/lock:", color="gray")
            else:
                st.badge(
                    view.t("open: a lower bound"),
                    icon=":material/hourglass_top:",
                    color="orange",
                )
            st.markdown(
                f":small[:gray[{page.plain(row.environment or view.t('machine not planned'))}]]",
                width="content",
            )
        st.markdown(_equation(view, session, row, reserved))
        seen = " ".join(_seen(view, session, row))
        if seen:
            st.markdown(f":material/sensors: :small[{seen}]")
        _checks(view, session)
        st.markdown(f":small[{_allocation(view, session, counted)}]")
        for text, source in _remarks(session):
            where = page.plain(f"{source.name}:{source.line}")
            st.markdown(
                f":material/sticky_note_2: {page.plain(view.words.text(text))} "
                f":small[:gray[{where}]]"
            )


def _equation(view: View, session: Session, row: SessionHours, reserved: Figure) -> str:
    """Return where the reserved time went: attempts, waits, idle, and what nobody explains."""
    waits = [
        view.t(
            "**{time}** wait for {reason}",
            reason=msg(reason),
            time=view.words.quantity(hours, "h"),
        )
        for reason, hours in row.waits_h.items()
    ]
    waits += [
        view.t("a wait for {reason} without an end", reason=msg(wait.reason))
        for wait in session.waits
        if wait.duration_s is None
    ]
    if row.idle_h:
        idle = view.words.quantity(row.idle_h, "h")
        waits.append(view.t("**{time}** idle with memory held", time=idle))
    gaps = view.words.quantity(row.gaps_h, "h")
    text = msg(
        "**{reserved}** reserved = **{attempts}** attempts + {waits} + **{gaps}** unexplained",
        reserved=figure.cell(reserved, view.words),
        attempts=view.words.quantity(row.attempts_h, "h") if session.attempts else msg("no"),
        waits=" + ".join(waits) if waits else msg("**no** wait"),
        gaps=gaps if row.gaps_h is None or row.gaps_h > 0 else msg("nothing"),
    )
    if session.closed:
        return view.words.text(text)
    return view.t("at least {text}", text=text)


def _seen(view: View, session: Session, row: SessionHours) -> Iterator[str]:
    """Yield what the samples of the cards add to it."""
    if row.idle_h is None:
        if session.host.gpus and row.gaps_h:
            yield view.t(
                "The cards were not sampled between the attempts: `probe watch --detach` would "
                "tell idle from used."
            )
        return
    if row.gaps_free_h:
        yield view.t(
            "For **{time}** of the unexplained time the cards ran and held nothing.",
            time=view.words.quantity(row.gaps_free_h, "h"),
        )
    if row.gaps_used_h:
        yield view.t(
            "For **{time}** of it something ran on the cards that was not measured.",
            time=view.words.quantity(row.gaps_used_h, "h"),
        )
    if row.idle_inside_h:
        yield view.t(
            "Inside attempts the cards held memory and ran nothing for **{time}**.",
            time=view.words.quantity(row.idle_inside_h, "h"),
        )


def _checks(view: View, session: Session) -> None:
    """Draw what `probe check` found: what passed in one line, the rest line by line."""
    latest = {item.name: item for item in session.checks}
    if not latest:
        return
    good = [page.plain(item.name) for item in latest.values() if item.passed]
    if good:
        st.markdown(
            view.t(
                ":green[:material/check_circle:] CUDA check passed: {names}", names=", ".join(good)
            )
        )
    for item in latest.values():
        if item.passed:
            continue
        mark = ":gray[:material/help:]" if item.passed is None else ":red[:material/cancel:]"
        text = (
            view.t("CUDA check could not ask: {name}", name=item.name)
            if item.passed is None
            else view.t("CUDA check failed: {name}", name=item.name)
        )
        said = page.plain(item.said or view.t("no reason recorded"))
        st.markdown(f"{mark} {page.plain(text)} :small[:gray[{said}]]")


def _allocation(view: View, session: Session, counted: Mapping[str, str]) -> str:
    """Return as which session this one counts."""
    sessions = view.result.measurements.sessions
    own = counted[session.id]
    others = tuple(
        page.plain(session_name(view, item))
        for item in sessions
        if counted[item.id] == own and item.id != session.id
    )
    if not others:
        return view.t("Counts as one session of its own.")
    return view.t(
        "Counts as one session together with {others}: one boot, at most {gap} between them.",
        others=others,
        gap=Quantity(view.project.policy.session_merge_h, "h"),
    )


def _remarks(session: Session) -> list[tuple[Message, Source]]:
    """Return the notes and changes of a session in order of the log."""
    found: list[tuple[Message, Source]] = [
        (msg("{text}", text=note.text), note.source) for note in session.notes
    ]
    found += [
        (
            msg(
                "changed {what} from {before} to {after}: {reason}",
                what=change.what,
                before=change.before,
                after=change.after,
                reason=change.reason,
            ),
            change.source,
        )
        for change in session.changes
        if change.layer is None
    ]
    return sorted(found, key=lambda item: (item[1].name, item[1].line or 0))
