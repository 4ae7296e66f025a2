"""Two people changed one project: both versions side by side, and a choice."""

from __future__ import annotations

import streamlit as st

from budget import documents, workflow
from budget.store import Conflict
from budget.ui import page
from budget.ui.page import View


def draw(view: View, conflict: Conflict) -> None:
    """Show what the refused version and the newest one say differently."""
    mine = documents.read(conflict.mine.document.encode(), "mine").project
    newest = documents.read(conflict.newest.document.encode(), "newest").project
    with st.container(border=True, key="conflict"):
        st.error(
            view.t(
                "Your change was not saved: {author} saved revision {number} in the meantime. "
                "Both versions are kept; nothing was overwritten.",
                author=conflict.newest.author,
                number=conflict.newest.number,
            ),
            icon=":material/call_split:",
        )
        if mine is not None and newest is not None:
            rows = workflow.differences(mine, newest)
            st.dataframe(
                {
                    view.t("field"): [path for path, _, _ in rows],
                    view.t("yours"): [view.words.text(value) for _, value, _ in rows],
                    view.t("newest"): [view.words.text(value) for _, _, value in rows],
                },
                hide_index=True,
            )
        with st.container(horizontal=True):
            if st.button(view.t("Keep the newest"), type="primary", key="conflict-newest"):
                _done()
            if mine is not None and st.button(view.t("Save mine over it"), key="conflict-mine"):
                st.session_state.pop(page.CONFLICT, None)
                view.save(
                    mine, view.t("saved over revision {number}", number=conflict.newest.number)
                )


def _done() -> None:
    st.session_state.pop(page.CONFLICT, None)
    page.renew()
    st.rerun()
