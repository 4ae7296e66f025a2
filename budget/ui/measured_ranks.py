"""What the ranks of one attempt did, side by side."""

from __future__ import annotations

import streamlit as st

from budget.attempts import Attempt, Part
from budget.ui import charts
from budget.ui.chart_parts import Bar
from budget.ui.measured_timeline import ink, table
from budget.ui.page import View
from budget.ui.timeline import NAMES, OUTCOMES, Interval, ranks

MOST_LANES = 8
"""So many ranks are drawn; the table has them all."""
LONG_S = 600.0
"""From here on the axis counts minutes."""


def draw(view: View, attempt: Attempt) -> None:
    """Draw a lane per rank; nothing for an attempt of one."""
    lanes = {rank: parts for rank, parts in ranks(attempt).items() if parts}
    if len(lanes) < 2:
        return
    st.markdown(f"**{view.t('What each rank did')}**")
    st.caption(view.t("The slowest rank gives the time of a phase: the others wait for it."))
    longest_s = max(parts[-1].end_s for parts in lanes.values())
    unit_s = 60.0 if longest_s >= LONG_S else 1.0
    probes = {part.rank: part for part in attempt.parts}
    names = {rank: _name(view, rank, probes.get(rank)) for rank in lanes}
    bars = [
        _bar(view, names[rank], attempt, part, unit_s)
        for rank, parts in lanes.items()
        for part in parts
    ]
    heads = (view.t("what"), view.t("lasted"), view.t("rank"), view.t("line"))
    drawn = list(names.values())[:MOST_LANES]
    st.altair_chart(
        charts.timeline(
            drawn,
            [bar for bar in bars if bar.lane in drawn],
            [],
            kinds={kind: view.words.text(word) for kind, word in NAMES.items()},
            axis=view.t("minutes since the attempt began")
            if unit_s > 1
            else view.t("seconds since the attempt began"),
            heads=heads,
            ink=ink(),
        ),
        alt=charts.described(
            view.t("What each rank did"), [f"{bar.lane} {bar.what} {bar.lasted}" for bar in bars]
        ),
        key="chart-ranks",
    )
    table(
        view,
        {
            heads[2]: [bar.lane.replace("\n", ", ") for bar in bars],
            heads[0]: [bar.what for bar in bars],
            heads[1]: [bar.lasted for bar in bars],
            heads[3]: [bar.where for bar in bars],
        },
    )


def _name(view: View, rank: int, part: Part | None) -> str:
    name = view.t("rank {rank}", rank=rank)
    if part is None:
        return name
    if part.node is not None:
        name = view.t("{rank}, node {node}", rank=name, node=part.node)
    lasted = view.words.quantity(part.duration_s, "s")
    return f"{name}\n{lasted}, {view.words.text(OUTCOMES[part.outcome])}"


def _bar(view: View, lane: str, attempt: Attempt, part: Interval, unit_s: float) -> Bar:
    source = part.source
    return Bar(
        lane=lane,
        kind=part.kind,
        start=part.start_s / unit_s,
        end=part.end_s / unit_s,
        what=view.words.text(NAMES[part.kind]),
        lasted=view.words.quantity(part.end_s - part.start_s, "s"),
        attempt=attempt.id,
        where=f"{source.name}:{source.line}" if source else view.t("no line"),
    )
