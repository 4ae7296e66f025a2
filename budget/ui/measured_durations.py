"""The chart of durations on *Measurements*: every measured unit, the mean and its range."""

from __future__ import annotations

import streamlit as st

from budget import workflow
from budget.ui import charts, figure, page
from budget.ui.chart_parts import Lane, Point
from budget.ui.measured_timeline import ink, short, table
from budget.ui.page import View

LONG_S = 180.0
"""From here on the axis counts minutes."""


def draw(view: View) -> None:
    """Draw what one unit of every block took, and the same as a table."""
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
        per = view.t("per call") if block.unit == "call" else view.t("per attempt")
        text = view.t(
            "{per}: {mean}",
            mean=figure.cell(mean, view.words) if mean.known else view.t("not averaged"),
            per=per,
        )
        label = f"{short(block.id)}\n{figure.cell(mean, view.words)}"
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


def _in(seconds: object, unit_s: float) -> float | None:
    return None if seconds is None else float(str(seconds)) / unit_s
