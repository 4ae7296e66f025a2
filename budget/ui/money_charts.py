"""Charts of money and hours per scenario. Builders return charts and draw nothing.

One measure, one hue. A bar that holds only a part is pale, and its label says "at least"; a bar
that rests on an example carries the word. Labels stand above their bars, so that they fit a phone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import altair as alt
import msgspec

ROW_PX = 68
LABEL_CHARS = 42
"""At this length a label fits a window of 400 px."""


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
    bars: Sequence[Bar], *, title: str, subtitle: str, axis: str, words: tuple[str, str, str]
) -> alt.LayerChart | alt.FacetChart:
    """Return bars with their ranges; ``words`` head the tooltip: scenario, value, covers."""
    rows = [
        {
            "row": "\n".join(textwrap.wrap(f"{bar.name}: {bar.text}", LABEL_CHARS)),
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
                labelOffset=-12,
                labelLimit=0,
                labelFontSize=15,
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
    length = base.mark_bar(size=16, cornerRadiusEnd=3, yOffset=10).encode(
        x=alt.X("value:Q", title=axis, axis=alt.Axis(tickCount=5, labelFontSize=14)),
        opacity=alt.condition("datum.partial", alt.value(0.45), alt.value(1.0)),
    )
    ranged = base.transform_filter("isValid(datum.low) && datum.high > datum.low")
    whisker = ranged.mark_rule(strokeWidth=2, yOffset=10, color="#868e96").encode(
        x="low:Q", x2="high:Q"
    )
    ends = [
        ranged.mark_tick(thickness=2, size=14, yOffset=10, color="#868e96").encode(x=f"{side}:Q")
        for side in ("low", "high")
    ]
    return alt.layer(length, whisker, *ends).properties(
        height=ROW_PX * len(rows),
        title=alt.Title(title, subtitle=subtitle, anchor="start", fontSize=17, subtitleFontSize=14),
    )


def described(bars: Sequence[Bar], title: str) -> str:
    """Return the chart in words, for those who do not see it."""
    return f"{title}: " + "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
