"""The chart of peak memory on *Measurements*, against the memory of the device."""

from __future__ import annotations

import streamlit as st

from budget import workflow
from budget.attempts import Attempt
from budget.figures import Figure
from budget.messages import Message, msg
from budget.ui import charts, figure
from budget.ui.chart_parts import Lane, Point
from budget.ui.measured_timeline import ink, short, table
from budget.ui.page import View
from budget.ui.timeline import OUTCOMES


def draw(view: View) -> None:
    """Draw the peaks of every block against the device, and the same as a table."""
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
        label = f"{short(name)}\n{_peak_text(view, peak, limit, len(shown))}"
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
