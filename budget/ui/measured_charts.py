"""The charts of *Measurements* in tabs."""

from __future__ import annotations

import streamlit as st

from budget.ui import measured_durations, measured_memory, measured_timeline
from budget.ui.page import View

TABS = "measured-charts"


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
            measured_memory.draw(view)
    with duration:
        if duration.open:
            measured_durations.draw(view)
