"""Charts of measurements. Builders return charts and draw nothing.

Colour rules: what happened keeps its colour on every chart (run teal, load blue, prepare magenta,
wait orange, held idle yellow, the unattributed grey, the unexplained pale and dashed); measures of
one kind have one hue, teal. Nothing is told by colour alone: a failure has an outline or a cross
and the word, a limit is a line with its name, and every chart comes with a table. Labels stand
above their lanes, so that they fit a phone.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from budget.ui.chart_parts import (
    BAR_PX,
    DOWN_PX,
    FONT,
    FRAME_PX,
    LANE_PX,
    LEGEND_PX,
    SESSION_PX,
    WORD_SIDES,
    Bar,
    Flag,
    Ink,
    Lane,
    Point,
    lanes_axis,
    number_axis,
    values_of,
)
from budget.ui.timeline import KINDS, Kind


def timeline(
    lanes: Sequence[str],
    bars: Sequence[Bar],
    flags: Sequence[Flag],
    *,
    kinds: dict[Kind, str],
    axis: str,
    heads: tuple[str, str, str, str],
    ink: Ink,
) -> alt.LayerChart | alt.FacetChart:
    """Return sessions as lanes; ``heads`` title the tooltip: what, lasted, attempt, where."""
    used = [kind for kind in KINDS if any(bar.kind == kind for bar in bars)]
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(
            domain=[kinds[kind] for kind in used], range=[ink.kinds[kind] for kind in used]
        ),
        legend=alt.Legend(
            orient="top",
            title=None,
            columns=3,
            labelFontSize=FONT - 1,
            labelColor=ink.text,
            symbolType="square",
            symbolSize=160,
            symbolStrokeWidth=0,
            columnPadding=14,
        ),
    )
    rows = values_of(bars, kind=[kinds[bar.kind] for bar in bars])
    x = alt.X(
        "start:Q", title=axis, axis=number_axis(grid=False), scale=alt.Scale(nice=False, zero=True)
    )
    base = alt.Chart(rows).encode(y=lanes_axis(lanes, ink))
    known = base.mark_bar(size=BAR_PX, yOffset=DOWN_PX).encode(
        x=x,
        x2="end:Q",
        color=colour,
        tooltip=[
            alt.Tooltip(f"{name}:N", title=head)
            for name, head in zip(("what", "lasted", "attempt", "where"), heads, strict=True)
        ],
    )
    unexplained = (
        base.transform_filter(f"datum.kind == {kinds['unexplained']!r}")
        .mark_bar(size=BAR_PX, yOffset=DOWN_PX, filled=False, strokeDash=[3, 3], strokeWidth=1.5)
        .encode(x="start:Q", x2="end:Q", stroke=alt.value(ink.kinds["unattributed"]))
    )
    failed = alt.Chart(values_of(flags)).encode(y=lanes_axis(lanes, ink), x="start:Q")
    outline = failed.mark_bar(
        size=BAR_PX + 8, yOffset=DOWN_PX, filled=False, stroke=ink.text, strokeWidth=2
    ).encode(x2="end:Q")
    words = [
        failed.transform_filter(f"datum.right == {test}")
        .mark_text(align=side, baseline="top", dy=28, fontSize=FONT - 1, color=ink.text)
        .encode(text="word:N")
        for test, side in WORD_SIDES
    ]
    return alt.layer(known, unexplained, outline, *words).properties(
        height=FRAME_PX + LEGEND_PX + SESSION_PX * len(lanes)
    )


def memory(
    lanes: Sequence[Lane],
    points: Sequence[Point],
    *,
    axis: str,
    heads: tuple[str, str],
    ink: Ink,
) -> alt.LayerChart | alt.FacetChart:
    """Return the peaks of each lane on a bar to the highest, and the device's memory as a rule."""
    names = [lane.label for lane in lanes]
    rows = values_of(lanes)
    base = alt.Chart(rows).encode(y=lanes_axis(names, ink))
    x = alt.X("mid:Q", title=axis, axis=number_axis(), scale=alt.Scale(zero=True))
    highest = base.mark_bar(size=12, yOffset=DOWN_PX, color=ink.measure, opacity=0.35).encode(x=x)
    rule = (
        base.transform_filter("isValid(datum.limit)")
        .mark_tick(thickness=3, size=LANE_PX, opacity=1, color=ink.limit)
        .encode(x="limit:Q")
    )
    name = base.mark_text(
        align="right", dx=-8, yOffset=-8, fontSize=FONT - 1, color=ink.text
    ).encode(x="limit:Q", text="limit_text:N")
    return alt.layer(highest, _points(points, names, heads, ink), rule, name).properties(
        height=FRAME_PX + LANE_PX * len(lanes)
    )


def durations(
    lanes: Sequence[Lane],
    points: Sequence[Point],
    *,
    axis: str,
    heads: tuple[str, str],
    ink: Ink,
) -> alt.LayerChart | alt.FacetChart:
    """Return every measured unit as a point, and the mean of each lane with its range."""
    names = [lane.label for lane in lanes]
    base = alt.Chart(values_of(lanes)).encode(y=lanes_axis(names, ink))
    ranged = base.transform_filter("isValid(datum.low) && datum.high > datum.low")
    x = alt.X("low:Q", title=axis, axis=number_axis(), scale=alt.Scale(zero=True))
    span = ranged.mark_bar(size=12, yOffset=DOWN_PX, color=ink.measure, opacity=0.25).encode(
        x=x, x2="high:Q"
    )
    ends = [
        ranged.mark_tick(thickness=2, size=18, yOffset=DOWN_PX, color=ink.measure).encode(
            x=f"{side}:Q"
        )
        for side in ("low", "high")
    ]
    mean = (
        base.transform_filter("isValid(datum.mid)")
        .mark_tick(thickness=3, size=30, opacity=1, yOffset=DOWN_PX, color=ink.text)
        .encode(x="mid:Q")
    )
    layers = (span, *ends, _points(points, names, heads, ink), mean)
    return alt.layer(*layers).properties(height=FRAME_PX + LANE_PX * len(lanes))


def described(title: str, lines: Sequence[str]) -> str:
    """Return a chart in words, for those who do not see it."""
    return f"{title}: " + "; ".join(line.replace("\n", ", ") for line in lines)


def _points(
    points: Sequence[Point], lanes: Sequence[str], heads: tuple[str, str], ink: Ink
) -> alt.LayerChart | alt.FacetChart:
    tooltip = [alt.Tooltip("what:N", title=heads[0]), alt.Tooltip("text:N", title=heads[1])]
    base = alt.Chart(values_of(points)).encode(
        y=lanes_axis(lanes, ink), x=alt.X("value:Q"), tooltip=tooltip
    )
    fine = base.transform_filter("!datum.failed").mark_point(
        size=110, yOffset=DOWN_PX, filled=True, color=ink.measure, opacity=0.7
    )
    failed = base.transform_filter("datum.failed").mark_point(
        size=110, yOffset=DOWN_PX, shape="cross", filled=True, color=ink.text, angle=45
    )
    return alt.layer(fine, failed)
