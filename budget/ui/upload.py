"""Dropping files: what was read, what each file became, and how to undo it."""

from __future__ import annotations

import streamlit as st

from budget import workflow
from budget.store import StoreProblem
from budget.ui import page
from budget.ui.page import View


def draw(view: View, *, key: str) -> None:
    """Draw the drop zone and, below it, the receipts of what was dropped last."""
    zone(view, key=key)
    receipts(view)


def zone(view: View, *, key: str) -> None:
    """Draw the drop zone; what is dropped is kept at once and the page drawn anew."""
    files = st.file_uploader(
        view.t("Drop probe logs (.jsonl) or a project document (.yaml)"),
        accept_multiple_files=True,
        key=view.key(key),
    )
    if files:
        with st.spinner(view.t("Reading {count} files", count=len(files))):
            _take(view, [(file.name, file.getvalue()) for file in files])


def receipts(view: View) -> None:
    """Draw what became of the files dropped last in this project."""
    kept = st.session_state.get(page.RECEIPTS)
    if not kept or kept[0] != view.opened.id:
        return
    if st.button(view.t("Close"), key="close-receipts", icon=":material/close:", type="tertiary"):
        st.session_state.pop(page.RECEIPTS, None)
        st.rerun()
    for good in (True, False):
        lines = [
            f"**{page.plain(receipt.name)}**: {page.plain(view.words.text(receipt.summary))}"
            for receipt in kept[1]
            if receipt.kept is good
        ]
        if lines and good:
            st.success("  \n".join(lines), icon=":material/task:")
        elif lines:
            st.error("  \n".join(lines), icon=":material/error:")
    found = tuple(problem for receipt in kept[1] for problem in receipt.problems)
    problems(view, found, key="receipt-problems")


def problems(view: View, found: tuple[workflow.Problem, ...], *, key: str) -> None:
    """Draw problems as a table: where, what, what to do next."""
    if not found:
        return
    with st.container(key=key):
        st.markdown(
            view.t("1 line needs a look")
            if len(found) == 1
            else view.t("{count} lines need a look", count=len(found))
        )
        st.dataframe(
            {
                view.t("where"): [problem.where for problem in found],
                view.t("what"): [view.words.text(problem.what) for problem in found],
                view.t("what to do next"): [view.words.text(problem.do_next) for problem in found],
            },
            hide_index=True,
        )


def _take(view: View, files: list[tuple[str, bytes]]) -> None:
    try:
        result = workflow.add_files(
            view.store, view.opened.id, files, page.author(), page.now(), view.today
        )
    except StoreProblem as problem:
        st.error(str(problem), icon=":material/database:")
        return
    st.session_state[page.RECEIPTS] = (view.opened.id, result)
    page.renew()
    opened = [receipt for receipt in result if receipt.opened]
    if opened and opened[-1].opened:
        page.go_to(opened[-1].opened)
    st.rerun()
