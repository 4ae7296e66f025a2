"""The top of every page: which project, which day, whose name, what happened last."""

from __future__ import annotations

import streamlit as st

from budget import workflow
from budget.messages import msg
from budget.project import Project
from budget.store import Revision, StoreProblem
from budget.ui import conflict, page, sample
from budget.ui.page import View


def draw(view: View, name: str) -> None:
    """Draw the header of page ``name``, and above it what needs an answer first."""
    if view.opened.id == sample.ID:
        _sample_banner(view)
    title, _ = page.PAGES[name]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.title(view.words.text(title), width="stretch")
        _day(view)
        _project_menu(view)
    flash = st.session_state.pop(page.FLASH, None)
    if flash:
        st.toast(flash, icon=":material/check:")
    if view.opened.problems:
        for problem in view.opened.problems:
            st.warning(
                f"{page.plain(problem.where)}: {view.words.text(problem.what)}. "
                f"{view.words.text(problem.do_next)}"
            )
    if page.CONFLICT in st.session_state:
        conflict.draw(view, st.session_state[page.CONFLICT])
    _watch(view)


def _sample_banner(view: View) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="sample-banner"):
        if st.button(
            view.t("Start your own project"),
            type="primary",
            key="start-own",
            icon=":material/add:",
        ):
            _new_project(view)
        st.info(
            view.t(
                "**Sample data.** The logs were really measured on a small CPU host; the price is "
                "an example. Nothing here is yours."
            ),
            icon=":material/science:",
            width="stretch",
        )


def _day(view: View) -> None:
    day = view.result.as_of.isoformat()
    pinned = view.project.as_of == view.result.as_of
    text = view.t("as of {day}, pinned", day=day) if pinned else view.t("as of {day}", day=day)
    st.markdown(f":small[{text}]", width="content")


def _project_menu(view: View) -> None:
    title = view.project.title
    short = title if len(title) <= 32 else title[:31] + "…"
    with st.popover(short, icon=":material/folder_open:", width="content"):
        st.markdown(f"**{page.plain(title)}**")
        st.caption(
            view.t(
                "Revision {number}, saved by {author} on {at}",
                number=view.opened.revision.number,
                author=page.plain(view.opened.revision.author),
                at=view.opened.revision.at,
            )
        )
        st.caption(view.t("The address of this project, to share:"))
        st.code(_address(view), language=None, wrap_lines=True)
        st.text_input(
            view.t("Your name, as it stands beside what you enter"),
            key=page.AUTHOR,
            persist_state="session",
            placeholder=view.t("unnamed"),
        )
        if st.button(
            view.t("New project"), key="new-project", icon=":material/add:", width="stretch"
        ):
            _new_project(view)
        if (
            view.opened.id == sample.ID
            and view.opened.revision.number > 1
            and st.button(view.t("Restore the sample"), key="restore-sample", width="stretch")
        ):
            sample.restore(view.store, page.now())
            page.renew()
            st.rerun()
        entries = [entry for entry in view.store.projects() if entry.id != view.opened.id]
        if entries:
            st.markdown(view.t("Open another project"))
        for entry in entries:
            if st.button(
                page.plain(page.header_title(entry.document)),
                key=f"open-{entry.id}",
                width="stretch",
            ):
                page.go_to(entry.id)
        _history(view)


def _history(view: View) -> None:
    with st.expander(view.t("Revisions"), type="compact"):
        for revision in view.store.history(view.opened.id)[:20]:
            st.caption(_revision(view, revision))
        for revision in view.store.refused(view.opened.id)[:5]:
            st.caption(view.t("refused, kept: {text}", text=_revision(view, revision)))


def _revision(view: View, revision: Revision) -> str:
    return view.t(
        "{number}: {message} ({author}, {at})",
        number=revision.number,
        message=page.plain(revision.message),
        author=page.plain(revision.author),
        at=revision.at,
    )


def _new_project(view: View) -> None:
    project = Project(title=view.t("New project"))
    project_id = workflow.create(view.store, project, page.author(), page.now())
    st.session_state[page.FLASH] = view.t("New project started")
    page.go_to(project_id, "decision")


@st.fragment(run_every=4)
def _watch(view: View) -> None:
    """Say when somebody else has saved, so that nobody decides on an old state."""
    try:
        newest, logs = view.store.version(view.opened.id)
        revision = view.store.newest(view.opened.id)
    except StoreProblem as problem:
        page.store_failed(view.words, problem)
        return
    if newest == view.opened.revision.number and logs == view.log_version:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        if st.button(view.t("Show the newest"), key="show-newest", icon=":material/refresh:"):
            page.renew()
            st.rerun(scope="app")
        st.markdown(
            view.words.text(
                msg(
                    "{author} saved a newer version: {message}",
                    author=page.plain(revision.author if revision else "?"),
                    message=page.plain(revision.message if revision else "?"),
                )
            )
        )


def _address(view: View) -> str:
    """Return the address that opens this project, without the page and the day."""
    base = (st.context.url or "").split("?")[0].rstrip("/")
    for name in page.PAGES:
        base = base.removesuffix(f"/{name}")
    return f"{base}/?project={view.opened.id}"
