"""The files on *Measurements*: what is kept, from whom, and how to take one out again."""

from __future__ import annotations

import streamlit as st

from budget.store import StoredLog, StoreProblem
from budget.ui import page
from budget.ui.page import View


def draw(view: View) -> None:
    """Draw the files of the project, and those that were removed and can come back."""
    removed = view.store.removed_logs(view.opened.id)
    if not view.opened.files and not removed:
        return
    st.subheader(view.t("Files"), anchor=False)
    for file in view.opened.files:
        if _row(view, file, view.t("Remove"), ":material/delete:"):
            _change(view, file, restore=False)
    for file in removed:
        if _row(view, file, view.t("Restore"), ":material/undo:"):
            _change(view, file, restore=True)


def _row(view: View, file: StoredLog, action: str, icon: str) -> bool:
    """Draw one file with its button; return whether the button was pressed."""
    name, author = page.plain(file.name), page.plain(file.added_by)
    size = view.words.quantity(file.size_bytes, "bytes")
    with st.container(
        horizontal=True, vertical_alignment="center", key=f"file-{file.hash}-{action}"
    ):
        if file.removed_at is None:
            text = view.t(
                "{size}, added on {at} by {author}", size=size, at=file.added_at, author=author
            )
        else:
            name = f"~~{name}~~"
            text = view.t(
                "{size}, removed on {at} by {author}; it counts no longer",
                size=size,
                at=file.removed_at,
                author=page.plain(file.removed_by or view.t("unnamed")),
            )
        st.markdown(f"{name}  \n:small[:gray[{text}]]", width="stretch")
        return st.button(action, icon=icon, key=view.key(f"{file.hash}-{file.removed_at}"))


def _change(view: View, file: StoredLog, *, restore: bool) -> None:
    change = view.store.restore_log if restore else view.store.remove_log
    try:
        change(view.opened.id, file.hash, page.author(), page.now())
    except StoreProblem as problem:
        st.error(page.plain(str(problem)), icon=":material/database:")
        return
    st.session_state.pop(page.RECEIPTS, None)
    st.session_state.pop(page.PICKED, None)
    st.session_state[page.FLASH] = (
        view.t("{name} counts again", name=page.plain(file.name))
        if restore
        else view.t("{name} is removed; Restore brings it back", name=page.plain(file.name))
    )
    page.renew()
    st.rerun()
