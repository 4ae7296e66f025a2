"""The page *Measurements*: dropping logs, how to measure, what the logs propose."""

from __future__ import annotations

import streamlit as st

from budget import workflow
from budget.messages import msg
from budget.ui import page, probe_guide, upload
from budget.ui.page import View


def drop(view: View) -> None:
    """Draw the drop zone, its receipts, and what in the kept files could not be read."""
    upload.draw(view, key="upload-measurements")
    receipts = st.session_state.get(page.RECEIPTS)
    fresh = {
        problem
        for receipt in (receipts[1] if receipts and receipts[0] == view.opened.id else ())
        for problem in map(_mark, receipt.problems)
    }
    problems = view.result.measurements.problems
    upload.problems(
        view, tuple(item for item in problems if _mark(item) not in fresh), key="log-problems"
    )


def guard(view: View) -> bool:
    """Draw how to measure, folded where logs exist; return whether that was all there is."""
    if view.opened.files:
        with st.expander(view.t("How to measure"), icon=":material/straighten:"):
            probe_guide.draw(view)
        return False
    st.subheader(view.t("How to measure"), anchor=False)
    probe_guide.draw(view)
    return True


def proposal(view: View) -> None:
    """Draw what the logs hold that no block of the plan has, and the way to add it."""
    proposed = workflow.propose(view.project, view.result.measurements)
    old, known = view.project.environments, view.project.blocks
    environments = [item for item in proposed.environments if item not in old]
    blocks = [item for item in proposed.blocks if item not in known]
    if not environments and not blocks:
        return
    with st.container(border=True, key="proposal"):
        st.subheader(view.t("Propose environment and blocks from these logs"), anchor=False)
        st.markdown(
            view.t(
                "The logs hold conditions that no block of the plan has. Only what they state is "
                "filled in; how many runs are planned, the sessions and the waits stay for you."
            )
        )
        if environments:
            names = tuple(page.plain(item.label or item.id) for item in environments)
            text = (
                msg("**1 environment**: {names}", names=names)
                if len(names) == 1
                else msg("**{count} environments**: {names}", count=len(names), names=names)
            )
            st.markdown(f":material/dns: {view.words.text(text)}")
        if blocks:
            names = tuple(page.plain(item.title or item.id) for item in blocks)
            text = (
                msg("**1 block**: {names}", names=names)
                if len(names) == 1
                else msg("**{count} blocks**: {names}", count=len(names), names="")
            )
            lines = [f":material/view_week: {view.words.text(text)}"]
            lines += [f"- {name}" for name in names] if len(names) > 1 else []
            st.markdown("\n".join(lines))
        if st.button(
            view.t("Add to the plan"),
            type="primary",
            icon=":material/add:",
            key=view.key("propose"),
        ):
            # What the receipts say of the blocks holds no longer.
            st.session_state.pop(page.RECEIPTS, None)
            view.save(proposed, view.t("environments and blocks proposed from the logs"))


def _mark(problem: workflow.Problem) -> tuple[str, str]:
    """Return what tells one problem from another."""
    return problem.where, problem.what.text
