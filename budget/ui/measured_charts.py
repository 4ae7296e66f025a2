"""Peak memory and durations on *Measurements*: records as rows, each chart with its table."""

from __future__ import annotations

import textwrap

import streamlit as st

from budget import workflow
from budget.attempts import Attempt
from budget.figures import Figure
from budget.messages import Message, msg
from budget.ui import charts, figure, measured_timeline, page
from budget.ui.charts import Lane, Point
from budget.ui.measured_timeline import ink, table
from budget.ui.page import View
from budget.ui.timeline import OUTCOMES

TABS = "measured-charts"
LABEL_CHARS = 42
"""At this length a line of a lane's label fits a window of 400 px."""
LONG_S = 180.0
"""From here on the axis counts minutes."""


def draw(view: View) -> None:
    """Draw the charts in tabs; only the one on the screen is built."""
    time, memory, duration = st.tabs(
        [view.t("Reserved time"), view.t("Peak memory"), view.t("Duration per condition")],
        key=TABS,
        on_change="rerun",
    )
    with time:
        if time.open:
            measured_timeline.draw(view)
    with memory:
        if memory.open:
            _memory(view)
    with duration:
        if duration.open:
            _durations(view)


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
    limits: set[int | None] = {None}
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
            Lane(
                label=label,
                mid=value,
                limit=None if limit is None else limit / 2**30,
                limit_text=_limit_text(view, limit, gpu) if limit not in limits else "",
            )
        )
        limits.add(limit)
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
                lanes, points, axis="GiB", heads=(view.t("attempt"), view.t("peak")), ink=ink()
            ),
            alt=charts.described(view.t("Peak memory"), [lane.label for lane in lanes]),
            key="chart-memory",
        )
    heads = (
        view.t("serves"),
        view.t("attempt"),
        view.t("peak"),
        view.t("memory of the device"),
        view.t("layer"),
    )
    table(view, {head: [row[at] for row in rows] for at, head in enumerate(heads)})


def _limit_text(view: View, limit: int | None, gpu: bool) -> str:
    size = view.words.quantity(limit, "bytes")
    if gpu:
        return view.t("GPU memory {size}", size=size)
    return view.t("host memory {size}", size=size)


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
                lanes, points, axis=axis, heads=(view.t("unit"), view.t("duration")), ink=ink()
            ),
            alt=charts.described(view.t("Duration per condition"), [row[1] for row in rows]),
            key="chart-durations",
        )
        heads = (
            view.t("block"),
            view.t("mean with its range"),
            view.t("measured"),
            view.t("remark"),
        )
        table(view, {head: [row[at] for row in rows] for at, head in enumerate(heads)})
    elif not view.project.blocks:
        st.markdown(view.t("The plan has no blocks yet, so nothing is compared."))
    unplanned = [item.id for item in view.project.blocks if item.planned_runs is None]
    if lanes and unplanned:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                view.t(
                    "No range until somebody says how many runs are planned: {blocks}",
                    blocks=tuple(page.plain(item) for item in unplanned),
                ),
                width="stretch",
            )
            title, icon = page.PAGES["blocks"]
            st.page_link(
                "pages/blocks.py", label=view.words.text(title), icon=icon, width="content"
            )
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


def _in(seconds: object, unit_s: float) -> float | None:
    return None if seconds is None else float(str(seconds)) / unit_s


def _short(text: str) -> str:
    return textwrap.shorten(text, LABEL_CHARS, placeholder=" …")
