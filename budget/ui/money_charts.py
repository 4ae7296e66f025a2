"""Charts of money and hours per scenario. Builders return charts and draw nothing.

One measure, one hue. A bar that holds only a part is pale, and its label says "at least"; a bar
that rests on an example carries the word. Labels stand above their bars, so that they fit a phone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import altair as alt
import msgspec

ROW_PX = 84
FRAME_PX = 150
"""Title and axis, which Streamlit counts into the height."""
NAME_CHARS = 48
"""At this length a name fits a window of 400 px."""


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario as a bar: numbers for the length, texts for what a person reads."""

    name: str
    value: float
    low: float | None
    high: float | None
    text: str
    """The value with its range, as figures are written."""
    covers: str
    partial: bool = False


def per_scenario(
    bars: Sequence[Bar], *, title: str, axis: str, words: tuple[str, str, str]
) -> alt.LayerChart | alt.FacetChart:
    """Return bars with their ranges; ``words`` head the tooltip: scenario, value, covers."""
    rows = [
        {
            "row": f"{textwrap.shorten(bar.name, NAME_CHARS, placeholder=' …')}\n{bar.text}",
            "name": bar.name,
            "value": bar.value,
            "low": bar.low,
            "high": bar.high,
            "text": bar.text,
            "covers": bar.covers,
            "partial": bar.partial,
        }
        for bar in bars
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y(
            "row:N",
            sort=None,
            title=None,
            axis=alt.Axis(
                domain=False,
                ticks=False,
                labelExpr="split(datum.label, '\\n')",
                labelAlign="left",
                labelBaseline="bottom",
                labelPadding=-2,
                labelOffset=-26,
                labelLimit=0,
                labelFontSize=15,
                labelFontWeight=600,
                labelLineHeight=17,
            ),
            scale=alt.Scale(paddingInner=0.1, paddingOuter=0.25),
        ),
        tooltip=[
            alt.Tooltip("name:N", title=words[0]),
            alt.Tooltip("text:N", title=words[1]),
            alt.Tooltip("covers:N", title=words[2]),
        ],
    )
    length = base.mark_bar(size=16, cornerRadiusEnd=3, yOffset=7).encode(
        x=alt.X("value:Q", title=axis, axis=alt.Axis(tickCount=5, labelFontSize=14, grid=False)),
        opacity=alt.condition("datum.partial", alt.value(0.45), alt.value(1.0)),
    )
    ranged = base.transform_filter("isValid(datum.low) && datum.high > datum.low")
    whisker = ranged.mark_rule(strokeWidth=2, yOffset=7, color="#868e96").encode(
        x="low:Q", x2="high:Q"
    )
    ends = [
        ranged.mark_tick(thickness=2, size=14, yOffset=7, color="#868e96").encode(x=f"{side}:Q")
        for side in ("low", "high")
    ]
    return alt.layer(length, whisker, *ends).properties(
        height=FRAME_PX + ROW_PX * len(rows),
        title=alt.Title(title, anchor="start", fontSize=17),
    )


def described(bars: Sequence[Bar], title: str) -> str:
    """Return the chart in words, for those who do not see it."""
    return f"{title}: " + "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
