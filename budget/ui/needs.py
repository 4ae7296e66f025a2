"""What is missing, as every page lists it: what, what to do, and the page where it is entered."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from budget.costs import Need
from budget.ui import page
from budget.ui.page import View


def draw(view: View, needs: Sequence[Need], *, key: str) -> None:
    """Draw one entry per need."""
    for number, need in enumerate(needs):
        with st.container(horizontal=True, vertical_alignment="top", key=f"{key}-{number}"):
            st.markdown(
                f":orange[:material/help:] {page.plain(view.words.text(need.what))}  \n"
                f":material/arrow_forward: {page.plain(view.words.text(need.do_next))}",
                width="stretch",
            )
            if need.where in page.PAGES:
                title, icon = page.PAGES[need.where]
                st.page_link(
                    f"pages/{need.where}.py",
                    label=view.words.text(title),
                    icon=icon,
                    width="content",
                )
