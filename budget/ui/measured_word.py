"""A person's word on an attempt: assigned or excluded with a reason, and the way back."""

from __future__ import annotations

import streamlit as st

from budget import workflow
from budget.attempts import Attempt
from budget.conditions import Service
from budget.messages import msg
from budget.ui import page
from budget.ui.page import View


def serves(view: View, service: Service) -> str:
    """Return the block an attempt serves, or the word for none."""
    if service.block is not None:
        return service.block
    return view.t("excluded") if service.by == "person" else view.t("nothing")


def said(view: View, service: Service) -> None:
    """Say what the attempt serves and who says so, with the way back from a person's word."""
    why = page.plain(view.words.text(service.why))
    block = page.plain(serves(view, service))
    if service.by != "person":
        st.markdown(view.t("Serves **{block}**: {why}.", block=block, why=why))
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        text = (
            msg("A person excluded it: {why}", why=why)
            if service.block is None
            else msg("A person assigned it to **{block}**: {why}", block=block, why=why)
        )
        st.markdown(view.words.text(text), width="content")
        if st.button(
            view.t("Undo"), icon=":material/undo:", key=view.key(f"undo-{service.attempt}")
        ):
            st.session_state.pop(page.RECEIPTS, None)
            view.save(
                workflow.unassign(view.project, service.attempt),
                view.t("the condition of {attempt} decides again", attempt=service.attempt),
            )


def form(view: View, attempt: Attempt, service: Service) -> None:
    """Draw the form in which a person assigns or excludes the attempt, with a reason."""
    blocks = [item.id for item in view.project.blocks]
    with st.form(view.key(f"word-{attempt.id}"), border=False):
        left, right = st.columns([1, 2])
        with left:
            chosen = st.selectbox(
                view.t("Block"),
                blocks,
                index=blocks.index(service.block) if service.block in blocks else 0,
                key=view.key(f"block-{attempt.id}"),
            )
        with right:
            reason = st.text_input(
                view.t("Reason, kept and shown"), key=view.key(f"reason-{attempt.id}")
            ).strip()
        with st.container(horizontal=True):
            assigned = st.form_submit_button(
                view.t("Assign to this block"),
                icon=":material/move_item:",
                disabled=not blocks,
                key=view.key(f"assign-{attempt.id}"),
            )
            excluded = st.form_submit_button(
                view.t("Exclude"),
                icon=":material/block:",
                key=view.key(f"exclude-{attempt.id}"),
            )
    if not assigned and not excluded:
        return
    if not reason:
        st.warning(view.t("Say why: the reason stays beside the attempt."))
        return
    block = chosen if assigned else None
    message = (
        view.t("{attempt} excluded: {reason}", attempt=attempt.id, reason=reason)
        if block is None
        else view.t(
            "{attempt} assigned to {block}: {reason}",
            attempt=attempt.id,
            block=block,
            reason=reason,
        )
    )
    st.session_state.pop(page.RECEIPTS, None)  # they say what it served before
    view.save(workflow.assign(view.project, attempt.id, block, reason), message)
