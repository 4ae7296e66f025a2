"""The chart of one block's hours by component. The builder returns a chart and draws nothing.

One measure, one hue; the range is a whisker. A component without a value keeps its row and its
word, so that nothing missing looks like nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import msgspec

ROW_PX = 52
FRAME_PX = 70
"""The axis and its title, which Streamlit counts into the height."""


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One component: hours for the length of its bar, a text for what a person reads."""

    name: str
    hours: float | None
    low_h: float | None
    high_h: float | None
    text: str


def components(
    bars: Sequence[Bar], *, axis_h: str, axis_min: str, value: str
) -> alt.LayerChart | alt.FacetChart:
    """Return horizontal bars, in minutes where all of them are shorter than an hour."""
    longest = max((bar.high_h or bar.hours or 0 for bar in bars), default=0)
    factor = 1 if longest >= 1 else 60
    rows = [
        {
            "row": f"{bar.name}: {bar.text}",
            "value": None if bar.hours is None else bar.hours * factor,
            "low": None if bar.low_h is None else bar.low_h * factor,
            "high": None if bar.high_h is None else bar.high_h * factor,
            "text": bar.text,
            "name": bar.name,
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
                labelAlign="left",
                labelBaseline="bottom",
                labelPadding=-2,
                labelOffset=-4,
                labelLimit=0,
                labelFontSize=15,
            ),
            scale=alt.Scale(paddingInner=0.1, paddingOuter=0.2),
        ),
        tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("text:N", title=value)],
    )
    bar_of = base.mark_bar(size=12, cornerRadiusEnd=3, yOffset=6).encode(
        x=alt.X(
            "value:Q",
            title=axis_h if factor == 1 else axis_min,
            axis=alt.Axis(tickCount=4, labelFontSize=13),
        )
    )
    ranged = base.transform_filter("isValid(datum.low) && datum.high > datum.low")
    whisker = ranged.mark_rule(strokeWidth=2, yOffset=6, color="#868e96").encode(
        x="low:Q", x2="high:Q"
    )
    return alt.layer(bar_of, whisker).properties(height=FRAME_PX + ROW_PX * len(rows))


def described(bars: Sequence[Bar], title: str) -> str:
    """Return the chart in words, for those who do not see it."""
    return f"{title}: " + "; ".join(f"{bar.name} {bar.text}" for bar in bars)
