"""The timeline on *Measurements*: what every reserved minute of a session was."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import streamlit as st

from budget.attempts import Attempt, Session
from budget.messages import Message, msg
from budget.ui import charts
from budget.ui.chart_parts import INKS, Bar, Flag, Ink
from budget.ui.page import View
from budget.ui.timeline import NAMES, OUTCOMES, Interval, intervals

LONG_MIN = 180.0
"""From here on the axis counts hours."""
WORD_SHARE, RIGHT_SHARE = 0.14, 0.8
"""Words closer than this share of the axis are joined; from there on they stand to the left."""
LABEL_CHARS = 42
"""At this length a line of a lane's label fits a window of 400 px."""
GAPS: dict[str, Message] = {
    "free": msg("unexplained, the cards ran and held nothing"),
    "used": msg("unexplained, something ran that was not measured"),
}
MOST_SAID = 40
"""So many stretches are told in the text of the chart; its table has them all."""


def session_name(view: View, session: Session) -> str:
    """Return how a session is called on this page: its number in order of time and its start."""
    number = view.result.measurements.sessions.index(session) + 1
    if session.started_at is None:
        return view.t("{number}. start not recorded", number=number)
    return view.t("{number}. {start}", number=number, start=session.started_at)


def draw(view: View) -> None:
    """Draw every session as a lane of coloured stretches, and the same as a table."""
    st.subheader(view.t("What the reserved time was"), anchor=False)
    st.caption(
        view.t(
            "One lane per session, from its start. Only run, load and prepare do planned work; a "
            "frame with a word marks an attempt that did not succeed."
        )
    )
    found = view.result.measurements
    lanes = [(item, intervals(item, found.attempts)) for item in found.sessions]
    drawn = [(item, parts) for item, parts in lanes if parts]
    if not drawn:
        st.markdown(view.t("The logs have no times to draw."))
        return
    longest_min = max(parts[-1].end_s for _, parts in drawn) / 60
    hours = longest_min >= LONG_MIN
    unit_s = 3600.0 if hours else 60.0
    bars, flags, names = [], [], []
    for session, parts in drawn:
        name = _session_label(view, session)
        names.append(name)
        bars += [_bar(view, name, part, unit_s) for part in parts]
        flags += _flags(view, name, parts, unit_s, longest_min * 60)
    title = view.t("hours since the session began") if hours else view.t("minutes since the start")
    heads = (view.t("what"), view.t("lasted"), view.t("attempt"), view.t("line"))
    troubles = [view.t("attempt {outcome}", outcome=flag.word) for flag in flags if flag.word]
    said = [f"{bar.what} {bar.lasted}" for bar in bars[:MOST_SAID]]
    st.altair_chart(
        charts.timeline(
            names,
            bars,
            flags,
            kinds={kind: view.words.text(word) for kind, word in NAMES.items()},
            axis=title,
            heads=heads,
            ink=ink(),
        ),
        alt=charts.described(view.t("What the reserved time was"), [*names, *troubles, *said]),
        key="chart-timeline",
    )
    table(
        view,
        {
            view.t("session"): [bar.lane.split("\n")[0] for bar in bars],
            view.t("from the start"): [
                view.words.quantity(part.start_s, "s") for _, parts in drawn for part in parts
            ],
            heads[0]: [bar.what for bar in bars],
            heads[1]: [bar.lasted for bar in bars],
            heads[2]: [bar.attempt for bar in bars],
            heads[3]: [bar.where for bar in bars],
        },
    )
    undrawn = tuple(session_name(view, item) for item, parts in lanes if not parts)
    if undrawn:
        st.caption(view.t("Not drawn, without times in the log: {sessions}", sessions=undrawn))


def _session_label(view: View, session: Session) -> str:
    reserved = view.words.quantity(session.reserved_s, "s")
    below = (
        view.t("{time} reserved", time=reserved)
        if session.closed
        else view.t("at least {time} reserved, still open", time=reserved)
    )
    return f"{session_name(view, session)}\n{below}"


def _bar(view: View, lane: str, part: Interval, unit_s: float) -> Bar:
    what = view.words.text(NAMES[part.kind])
    if part.wait is not None:
        what = view.t("wait for {reason}", reason=msg(part.wait.reason))
        if part.wait.duration_s is None:
            what = view.t("{what}, without an end", what=what)
    if part.cards is not None:
        what = view.words.text(GAPS[part.cards])
    attempt = view.t("none")
    if part.attempt is not None:
        attempt = view.t(
            "{attempt} ({label}, {outcome})",
            attempt=part.attempt.id,
            label=part.attempt.block or msg("no label"),
            outcome=OUTCOMES[part.attempt.outcome],
        )
    where = f"{part.source.name}:{part.source.line}" if part.source else view.t("no line")
    return Bar(
        lane=lane,
        kind=part.kind,
        start=part.start_s / unit_s,
        end=part.end_s / unit_s,
        what=what,
        lasted=view.words.quantity(part.end_s - part.start_s, "s"),
        attempt=attempt,
        where=where,
    )


def _flags(
    view: View, lane: str, parts: Sequence[Interval], unit_s: float, longest_s: float
) -> list[Flag]:
    """Return the attempts that did not succeed; the words of neighbours are joined."""
    spans: dict[str, tuple[float, float, Attempt]] = {}
    for part in parts:
        if part.attempt is not None and part.attempt.outcome != "ok":
            start, end, _ = spans.get(part.attempt.id, (part.start_s, part.end_s, None))
            spans[part.attempt.id] = (start, max(end, part.end_s), part.attempt)
    groups: list[list[tuple[float, float, Attempt]]] = []
    for span in spans.values():
        if groups and span[0] - groups[-1][0][0] < WORD_SHARE * longest_s:
            groups[-1].append(span)
        else:
            groups.append([span])
    found = []
    for group in groups:
        words = {OUTCOMES[attempt.outcome] for _, _, attempt in group}
        word = view.words.text(words.pop() if len(words) == 1 else msg("not ok"))
        if len(group) > 1:
            word = view.t("{count} {outcome}", count=len(group), outcome=word)
        for index, (start, end, _) in enumerate(group):
            found.append(
                Flag(
                    lane=lane,
                    start=start / unit_s,
                    end=end / unit_s,
                    word="" if index else word,
                    right=start > RIGHT_SHARE * longest_s,
                )
            )
    return found


def table(view: View, columns: dict[str, list[str]]) -> None:
    """Draw what a chart shows as a table, folded away."""
    with st.expander(view.t("The same as a table"), type="compact"):
        st.dataframe(columns, hide_index=True)


def ink() -> Ink:
    """Return the colours of the reader's theme."""
    return INKS["dark" if st.context.theme.type == "dark" else "light"]


def short(text: str) -> str:
    """Return a name that fits the label of a lane."""
    return textwrap.shorten(text, LABEL_CHARS, placeholder=" …")
