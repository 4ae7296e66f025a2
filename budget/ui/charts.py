"""Charts of measurements. Builders return charts and draw nothing.

Colour rules: what happened keeps its colour on every chart (run teal, load blue, prepare magenta,
wait orange, the unattributed grey, the unexplained pale and dashed); measures of one kind have one
hue, teal. Nothing is told by colour alone: a failure has an outline or a cross and the word, a
limit is a line with its name, and every chart comes with a table. Labels stand above their lanes,
so that they fit a phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import msgspec

from budget.ui.timeline import KINDS, Kind

LIGHT: dict[Kind, str] = {
    "prepare": "#ae3ec9",
    "load": "#4c6ef5",
    "run": "#0b7285",
    "unattributed": "#868e96",
    "wait": "#c2570c",
    "unexplained": "#dee2e6",
}
DARK: dict[Kind, str] = {
    "prepare": "#e599f7",
    "load": "#91a7ff",
    "run": "#3bc9db",
    "unattributed": "#adb5bd",
    "wait": "#ffa94d",
    "unexplained": "#3a4753",
}
LANE_PX = 92
FRAME_PX = 70
"""Axis with its title, which Streamlit counts into the height."""
LEGEND_PX = 64
FONT = 15
WORD_SIDES: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("false", "left"),
    ("true", "right"),
)
BAR_PX = 28
DOWN_PX = 9
"""Marks stand below the middle of their lane, labels above."""


class Ink(msgspec.Struct, frozen=True):
    """The colours of one theme."""

    kinds: dict[Kind, str]
    text: str
    measure: str
    limit: str


INKS: dict[Literal["light", "dark"], Ink] = {
    "light": Ink(LIGHT, "#16202a", "#0b7285", "#c92a2a"),
    "dark": Ink(DARK, "#e8edf2", "#3bc9db", "#ff8787"),
}


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a lane of the timeline, with the texts of its tooltip."""

    lane: str
    kind: Kind
    start: float
    end: float
    what: str
    lasted: str
    attempt: str
    where: str


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that did not succeed: its stretch, and the word that stands below it."""

    lane: str
    start: float
    end: float
    word: str
    right: bool = False
    """Whether the word must end at the stretch because the chart does."""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One measured value in a lane."""

    lane: str
    value: float
    text: str
    what: str
    failed: bool = False


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One lane: its label of two lines, and what the whole lane says."""

    label: str
    mid: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    limit_text: str = ""
    """The name of the limit; of equal ones the first lane has it."""


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
    rows = _values(bars, kind=[kinds[bar.kind] for bar in bars])
    x = alt.X(
        "start:Q", title=axis, axis=_number_axis(grid=False), scale=alt.Scale(nice=False, zero=True)
    )
    base = alt.Chart(rows).encode(y=_lanes(lanes, ink))
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
    failed = alt.Chart(_values(flags)).encode(y=_lanes(lanes, ink), x="start:Q")
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
        height=FRAME_PX + LEGEND_PX + LANE_PX * len(lanes)
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
    rows = _values(lanes)
    base = alt.Chart(rows).encode(y=_lanes(names, ink))
    x = alt.X("mid:Q", title=axis, axis=_number_axis(), scale=alt.Scale(zero=True))
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
    base = alt.Chart(_values(lanes)).encode(y=_lanes(names, ink))
    ranged = base.transform_filter("isValid(datum.low) && datum.high > datum.low")
    x = alt.X("low:Q", title=axis, axis=_number_axis(), scale=alt.Scale(zero=True))
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
    base = alt.Chart(_values(points)).encode(
        y=_lanes(lanes, ink), x=alt.X("value:Q"), tooltip=tooltip
    )
    fine = base.transform_filter("!datum.failed").mark_point(
        size=110, yOffset=DOWN_PX, filled=True, color=ink.measure, opacity=0.7
    )
    failed = base.transform_filter("datum.failed").mark_point(
        size=110, yOffset=DOWN_PX, shape="cross", filled=True, color=ink.text, angle=45
    )
    return alt.layer(fine, failed)


def _lanes(labels: Sequence[str], ink: Ink) -> alt.Y:
    """Return lanes whose two-line labels stand above them, from the left edge."""
    return alt.Y(
        "lane:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=list(labels), paddingInner=0.1, paddingOuter=0.2),
        axis=alt.Axis(
            domain=False,
            ticks=False,
            labelExpr="split(datum.label, '\\n')",
            labelAlign="left",
            labelBaseline="bottom",
            labelPadding=-2,
            labelOffset=-28,
            labelLimit=0,
            labelFontSize=FONT,
            labelFontWeight=600,
            labelColor=ink.text,
            labelLineHeight=18,
        ),
    )


def _number_axis(*, grid: bool = True) -> alt.Axis:
    return alt.Axis(tickCount=5, labelFontSize=FONT, titleFontSize=FONT, grid=grid)


def _values(rows: Sequence[msgspec.Struct], **more: Sequence[Any]) -> alt.InlineData:
    """Return records as the data of a chart, with some columns replaced."""
    found = []
    for index, row in enumerate(rows):
        values = msgspec.structs.asdict(row)
        if "label" in values:
            values["lane"] = values.pop("label")
        found.append({**values, **{name: column[index] for name, column in more.items()}})
    return alt.InlineData(values=found)
