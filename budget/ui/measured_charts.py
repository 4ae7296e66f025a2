"""The charts of *Measurements*: records of the logs as rows, each chart with its table."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import streamlit as st

from budget import workflow
from budget.attempts import Attempt, Session
from budget.figures import Figure
from budget.messages import Message, msg
from budget.ui import charts, figure
from budget.ui.charts import Bar, Flag, Lane, Point
from budget.ui.page import View
from budget.ui.timeline import NAMES, OUTCOMES, Interval, intervals

TABS = "measured-charts"
LABEL_CHARS = 42
"""At this length a line of a lane's label fits a window of 400 px."""
LONG_MIN, LONG_S = 180.0, 180.0
"""From here on an axis counts in the next larger unit."""
WORD_SHARE, RIGHT_SHARE = 0.14, 0.8
"""Words closer than this share of the axis are joined; from there on they stand to the left."""


def draw(view: View) -> None:
    """Draw the charts in tabs; only the one on the screen is built."""
    time, memory, duration = st.tabs(
        [view.t("Reserved time"), view.t("Peak memory"), view.t("Duration per condition")],
        key=TABS,
        on_change="rerun",
    )
    with time:
        if time.open:
            _timeline(view)
    with memory:
        if memory.open:
            _memory(view)
    with duration:
        if duration.open:
            _durations(view)


def session_name(view: View, session: Session) -> str:
    """Return how a session is called on this page: its number in order of time and its start."""
    number = view.result.measurements.sessions.index(session) + 1
    if session.started_at is None:
        return view.t("{number}. start not recorded", number=number)
    return view.t("{number}. {start}", number=number, start=session.started_at)


def _timeline(view: View) -> None:
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
    said = [f"{name}, {bar.what}, {bar.lasted}" for name in names for bar in bars[:40]]
    st.altair_chart(
        charts.timeline(
            names,
            bars,
            flags,
            kinds={kind: view.words.text(word) for kind, word in NAMES.items()},
            axis=title,
            heads=heads,
            ink=_ink(),
        ),
        alt=charts.described(view.t("What the reserved time was"), said[:40]),
        key="chart-timeline",
    )
    _table(
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


def _memory(view: View) -> None:
    st.subheader(view.t("Peak memory against the device's memory"), anchor=False)
    peaks = {item.id: workflow.peak(item) for item in view.result.measurements.attempts}
    known = [item for item in peaks.values() if item.figure.known]
    gpu = any(item.gpu for item in known)
    layers = tuple(sorted({item.layer for item in known if item.layer}))
    if gpu:
        how = msg("A point is the peak of one attempt on the device, less what was in use before.")
    else:
        how = msg(
            "No GPU here: a point is the highest resident memory of one attempt's processes, the "
            "red line the memory of the host."
        )
    st.caption(
        view.t(
            "{how} The pale bar reaches to the highest peak of a block, a cross is a failed "
            "attempt. Measured by the layer {layers}.",
            how=how,
            layers=layers or msg("none"),
        )
    )
    lanes: list[Lane] = []
    points: list[Point] = []
    rows: list[tuple[str, str, str, str, str]] = []
    for name, peak, attempts in _by_block(view):
        measured = [(item, peaks[item.id]) for item in attempts]
        for attempt, one in measured:
            text = figure.cell(one.figure, view.words)
            rows.append(
                (
                    name,
                    attempt.id,
                    text if one.figure.known else view.words.figure(one.figure),
                    view.words.quantity(one.limit_bytes, "bytes"),
                    one.layer or view.t("none"),
                )
            )
        shown = [(attempt, one) for attempt, one in measured if one.figure.value is not None]
        if not shown:
            continue
        limit = min((one.limit_bytes for _, one in shown if one.limit_bytes), default=None)
        label = f"{_short(name)}\n{_peak_text(view, peak, limit, len(shown))}"
        value = None if peak is None or peak.value is None else float(peak.value) / 2**30
        lanes.append(
            Lane(label=label, mid=value, limit=None if limit is None else limit / 2**30)
        )
        points += [
            Point(
                lane=label,
                value=float(one.figure.value or 0) / 2**30,
                text=figure.cell(one.figure, view.words),
                what=_attempt(view, attempt),
                failed=attempt.outcome != "ok",
            )
            for attempt, one in shown
        ]
    if not lanes:
        st.markdown(view.t("No layer measured a peak."))
    else:
        st.altair_chart(
            charts.memory(
                lanes, points, axis="GiB", heads=(view.t("attempt"), view.t("peak")), ink=_ink()
            ),
            alt=charts.described(view.t("Peak memory"), [lane.label for lane in lanes]),
            key="chart-memory",
        )
    heads = ("serves", "attempt", "peak", "memory of the device", "layer")
    _table(view, {view.t(head): [row[at] for row in rows] for at, head in enumerate(heads)})


def _peak_text(view: View, peak: Figure | None, limit: int | None, count: int) -> str:
    if peak is None or not peak.known:
        return view.t("{count} attempts", count=count) if count > 1 else view.t("1 attempt")
    values = {"peak": figure.cell(peak, view.words), "count": count}
    if limit is None:
        return view.t("{peak}, device memory not recorded", **values)
    share = view.words.quantity(float(peak.value or 0) / limit, "share")
    return view.t(
        "{peak} of {limit} ({share})",
        limit=view.words.quantity(limit, "bytes"),
        share=share,
        **values,
    )


def _durations(view: View) -> None:
    st.subheader(view.t("Duration per condition"), anchor=False)
    st.caption(
        view.t(
            "A point is one measured unit of a block, the dark line their mean, the pale bar the "
            "range in which the mean over the planned units is expected. n counts units, k "
            "sessions."
        )
    )
    lanes: list[Lane] = []
    points: list[Point] = []
    rows: list[tuple[str, str, str, str]] = []
    unmeasured = []
    seconds = [one for item in view.result.estimates for group in item.run_s for one in group]
    longest_s = max(seconds, default=0.0)
    unit_s = 1.0 if longest_s < LONG_S else 60.0 if longest_s < LONG_S * 60 else 3600.0
    for block in view.project.blocks:
        item = view.result.estimate(block.id)
        mean = workflow.run_per_unit(block, view.result.measurements, item)
        if not item.run_s:
            unmeasured.append(block.id)
            continue
        counts = f"n = {mean.n}, k = {mean.k}" if mean.known else view.t("not averaged")
        per = view.t("per call") if block.unit == "call" else view.t("per attempt")
        text = view.t(
            "{mean} {per}, {counts}", mean=figure.cell(mean, view.words), per=per, counts=counts
        )
        label = f"{_short(block.id)}\n{_short_mean(view, mean, counts)}"
        lanes.append(
            Lane(
                label=label,
                mid=_in(mean.value, unit_s),
                low=_in(mean.low, unit_s),
                high=_in(mean.high, unit_s),
            )
        )
        for number, group in enumerate(item.run_s, 1):
            points += [
                Point(
                    lane=label,
                    value=value / unit_s,
                    text=view.words.quantity(value, "s"),
                    what=view.t("{block}, session {number}", block=block.id, number=number),
                )
                for value in group
            ]
        measured = view.words.text(tuple(p.text for p in points if p.lane == label))
        why = view.words.text(mean.why) if mean.why else view.t("none")
        rows.append((block.id, text, measured, why))
    if lanes:
        axis = {1.0: view.t("seconds"), 60.0: view.t("minutes"), 3600.0: view.t("hours")}[unit_s]
        st.altair_chart(
            charts.durations(
                lanes, points, axis=axis, heads=(view.t("unit"), view.t("duration")), ink=_ink()
            ),
            alt=charts.described(view.t("Duration per condition"), [row[1] for row in rows]),
            key="chart-durations",
        )
        heads = ("block", "mean with its range", "measured", "remark")
        _table(view, {view.t(head): [row[at] for row in rows] for at, head in enumerate(heads)})
    elif not view.project.blocks:
        st.markdown(view.t("The plan has no blocks yet, so nothing is compared."))
    if unmeasured:
        st.caption(view.t("Not measured: {blocks}", blocks=tuple(unmeasured)))


def _short_mean(view: View, mean: Figure, counts: str) -> str:
    return f"{figure.cell(mean, view.words)}, {counts}"


def _by_block(view: View) -> list[tuple[str, Figure | None, list[Attempt]]]:
    """Return the attempts of every block with its peak, then those that serve nothing by label."""
    attempts = view.result.measurements.attempts
    served = {item.attempt: item.block for item in view.result.services}
    known = {block.id for block in view.project.blocks}
    groups: list[tuple[str, Figure | None, list[Attempt]]] = [
        (
            block.id,
            view.result.estimate(block.id).peak_bytes,
            [item for item in attempts if served[item.id] == block.id],
        )
        for block in view.project.blocks
    ]
    rest = [item for item in attempts if served[item.id] not in known]
    for label in dict.fromkeys(item.block for item in rest):
        name = view.t("{label}, serves nothing", label=label or msg("no label"))
        groups.append((name, None, [item for item in rest if item.block == label]))
    return [group for group in groups if group[2]]


def _attempt(view: View, attempt: Attempt) -> str:
    outcome: Message = OUTCOMES[attempt.outcome]
    return view.t("{attempt}, {outcome}", attempt=attempt.id, outcome=outcome)


def _table(view: View, columns: dict[str, list[str]]) -> None:
    with st.expander(view.t("The same as a table"), type="compact"):
        st.dataframe(columns, hide_index=True)


def _ink() -> charts.Ink:
    return charts.INKS["dark" if st.context.theme.type == "dark" else "light"]


def _in(seconds: object, unit_s: float) -> float | None:
    return None if seconds is None else float(str(seconds)) / unit_s


def _short(text: str) -> str:
    return textwrap.shorten(text, LABEL_CHARS, placeholder=" …")
