"""What the charts of measurements share: colours, records, lanes with labels above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import msgspec

from budget.ui.timeline import Kind

LIGHT: dict[Kind, str] = {
    "prepare": "#ae3ec9",
    "load": "#4c6ef5",
    "run": "#0b7285",
    "unattributed": "#868e96",
    "wait": "#c2570c",
    "idle": "#7a6a00",
    "unexplained": "#dee2e6",
}
DARK: dict[Kind, str] = {
    "prepare": "#e599f7",
    "load": "#91a7ff",
    "run": "#3bc9db",
    "unattributed": "#adb5bd",
    "wait": "#ffa94d",
    "idle": "#ffe066",
    "unexplained": "#3a4753",
}
LANE_PX = 92
SESSION_PX = 120
"""A lane of the timeline, which also has words below its bar."""
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


def lanes_axis(labels: Sequence[str], ink: Ink) -> alt.Y:
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


def number_axis(*, grid: bool = True) -> alt.Axis:
    return alt.Axis(tickCount=5, labelFontSize=FONT, titleFontSize=FONT, grid=grid)


def values_of(rows: Sequence[msgspec.Struct], **more: Sequence[Any]) -> alt.InlineData:
    """Return records as the data of a chart, with some columns replaced."""
    found = []
    for index, row in enumerate(rows):
        values = msgspec.structs.asdict(row)
        if "label" in values:
            values["lane"] = values.pop("label")
        found.append({**values, **{name: column[index] for name, column in more.items()}})
    return alt.InlineData(values=found)
