"""What every page shares: its state, its header, its store, the language and the day.

The store is the truth. The session state holds only what its reader is looking at, under the keys
below; pages never invent keys of their own.
"""

from __future__ import annotations

import gettext
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from budget import workflow
from budget.messages import Message, msg
from budget.project import Project
from budget.store import Conflict, Store, StoreProblem, open_store
from budget.ui import sample
from budget.wording import Wording
from budget.yamltext import read_yaml

PAGES: dict[str, tuple[Message, str]] = {
    "decision": (msg("Decision"), ":material/gavel:"),
    "scope": (msg("Scope"), ":material/menu_book:"),
    "measurements": (msg("Measurements"), ":material/straighten:"),
    "blocks": (msg("Blocks"), ":material/view_week:"),
    "quotes": (msg("Quotes"), ":material/receipt_long:"),
    "scenarios": (msg("Scenarios"), ":material/balance:"),
}
"""The pages in the order of the menu. *Decision* comes first because the meeting looks at it."""

PROJECT = "project"
AUTHOR = "author"
DAY = "as_of"
FLASH = "flash"
RECEIPTS = "receipts"
CONFLICT = "conflict"
GENERATION = "generation"
PICKED = "picked"
BASIS = "basis"
DRAFT = "draft"
NAVIGATED = "navigated"
"""Keys of the session state. ``GENERATION`` counts saves: editors carry it in their key, so that a
save gives them fresh input and no edit is ever merged twice. ``BASIS`` is the page and revision a
reader looks at: what others save meanwhile is announced, never slipped under an unsaved edit."""

LOCALE_FOLDER = Path(__file__).parent.parent / "locale"


@dataclass(frozen=True)
class View:
    """One project as one reader sees it in this run of a page."""

    store: Store
    words: Wording
    today: date
    opened: workflow.Opened
    result: workflow.Assessment
    log_version: int
    """The store's count of log changes when this page was drawn."""

    def t(self, text: str, /, **values: Any) -> str:
        """Return a text of the page in the reader's language, with its values in place."""
        return self.words.text(Message(text, values))

    @property
    def project(self) -> Project:
        """The project as last saved."""
        return self.opened.project

    def key(self, name: str) -> str:
        """Return a widget key that is new after every save and for every project."""
        return f"{name}-{self.opened.id}-{self.opened.revision.number}-{generation()}"

    def save(self, project: Project, message: str) -> bool:
        """Save a changed project and rerun the page; show why when it is refused."""
        try:
            workflow.save(self.store, self.opened, project, author(), now(), message)
        except workflow.Contradiction as error:
            for problem in error.problems:
                st.error(
                    f"**{problem.where}**: {self.words.text(problem.what)}. "
                    f"{self.words.text(problem.do_next)}",
                    icon=":material/error:",
                )
            return False
        except Conflict as conflict:
            st.session_state[CONFLICT] = conflict
            forget_basis()
            st.rerun()
        except StoreProblem as problem:
            store_failed(self.words, problem)
            return False
        renew()
        st.session_state[FLASH] = (
            self.t("Saved: {message}", message=plain(message))
            if st.session_state.get(AUTHOR)
            else self.t(
                "Saved: {message} (as unnamed: say your name in the project menu)",
                message=plain(message),
            )
        )
        st.rerun()
        return True


def navigation() -> StreamlitPage:
    """Declare the pages in the reader's language and return the one that was asked for."""
    words = language()
    st.session_state[NAVIGATED] = True
    return st.navigation(
        [
            st.Page(
                f"pages/{name}.py", title=words.text(title), icon=icon, default=name == "decision"
            )
            for name, (title, icon) in PAGES.items()
        ],
        position="top",
    )


def start(name: str) -> View:
    """Draw the header of a page and return what it shows; ends the run where there is nothing."""
    if NAVIGATED not in st.session_state:
        # The first address asked for after a start of the server: Streamlit has not met app.py
        # yet and took this file for a page of its own menu.
        navigation()
        st.rerun()
    words = language()
    store = _store_or_stop(words)
    project_id = _project_id(store, words)
    try:
        opened = workflow.open_project(store, project_id, _basis(name, project_id))
    except workflow.Unreadable as error:
        _unreadable(store, words, project_id, error)
        st.stop()
        raise AssertionError from None  # st.stop never returns
    except StoreProblem as problem:
        store_failed(words, problem)
        st.stop()
        raise AssertionError from None  # st.stop never returns
    if opened is None:
        _unknown_project(store, words, project_id)
        st.stop()
        raise AssertionError  # st.stop never returns
    st.session_state[BASIS] = (name, project_id, opened.revision.number)
    today = _today(words)
    view = View(
        store,
        words,
        today,
        opened,
        workflow.assess(opened.project, opened.logs, today, asked=DAY in st.query_params),
        store.version(project_id)[1],
    )
    from budget.ui import header

    try:
        header.draw(view, name)
    except StoreProblem as problem:
        store_failed(words, problem)
    return view


def language() -> Wording:
    """Return the wording of the reader's language; English is the source of every text."""
    wanted = st.query_params.get("lang") or st.context.locale or "en"
    translation = gettext.translation(
        "messages", LOCALE_FOLDER, languages=[wanted.replace("-", "_")], fallback=True
    )
    if isinstance(translation, gettext.GNUTranslations):
        return Wording(translation.gettext, wanted.replace("-", "_"))
    return Wording()


def generation() -> int:
    """Return how often this reader has saved or discarded edits."""
    return int(st.session_state.get(GENERATION, 0))


def renew() -> None:
    """Give every editor fresh input from the newest revision: edits are saved or given up."""
    st.session_state[GENERATION] = generation() + 1
    forget_basis()


def forget_basis() -> None:
    """Show the newest revision from the next run on."""
    st.session_state.pop(BASIS, None)


def _basis(name: str, project_id: str) -> int | None:
    """Return the revision this reader already looks at on this page, None for the newest."""
    basis = st.session_state.get(BASIS)
    return basis[2] if basis and basis[:2] == (name, project_id) else None


def store_failed(words: Wording, problem: StoreProblem) -> None:
    st.error(
        f"{words.text(msg('The projects cannot be read or written now.'))} {plain(str(problem))}",
        icon=":material/database:",
    )


def _unreadable(store: Store, words: Wording, project_id: str, error: workflow.Unreadable) -> None:
    """Say what is wrong with a kept document, and offer its earlier revisions to download."""
    st.title(words.text(msg("This project cannot be read")))
    for problem in error.problems:
        st.error(
            f"**{plain(problem.where)}**: {plain(words.text(problem.what))}. "
            f"{plain(words.text(problem.do_next))}"
        )
    st.markdown(
        words.text(
            msg(
                "Nothing is lost: every revision is kept. Download one, correct it, and drop it on "
                "Decision as a project document."
            )
        )
    )
    for revision in store.history(project_id)[:10]:
        st.download_button(
            words.text(
                msg(
                    "Revision {number}: {message}", number=revision.number, message=revision.message
                )
            ),
            revision.document,
            file_name=f"{project_id}-{revision.number}.yaml",
            key=f"revision-{revision.number}",
        )
    _others(store, project_id)


def author() -> str:
    """Return the name that stands beside what this reader enters."""
    return str(st.session_state.get(AUTHOR) or "unnamed")


def now() -> datetime:
    """Return the current moment; with ``today`` the only clock of the dashboard."""
    return datetime.now(UTC)


def go_to(project_id: str, page: str | None = None) -> None:
    """Show another project, on this page or on ``page``."""
    st.session_state[PROJECT] = project_id
    st.session_state.pop(RECEIPTS, None)
    st.session_state.pop(CONFLICT, None)
    st.session_state.pop(PICKED, None)
    st.query_params[PROJECT] = project_id
    renew()
    if page is None:
        st.rerun()
    st.switch_page(f"pages/{page}.py", query_params={PROJECT: project_id})


@st.cache_resource
def _open(url: str | None) -> Store:
    return open_store(url)


def _store_or_stop(words: Wording) -> Store:
    try:
        store = _open(None)
        sample.keep(store, now())
    except StoreProblem as problem:
        st.error(
            f"{words.text(msg('The projects cannot be opened.'))} {problem}",
            icon=":material/database:",
        )
        st.stop()
        raise AssertionError from None  # st.stop never returns
    return store


def _project_id(store: Store, words: Wording) -> str:
    """Return the project of the address, else the one looked at last, else the sample."""
    wanted = st.query_params.get(PROJECT) or st.session_state.get(PROJECT) or sample.ID
    st.session_state[PROJECT] = wanted
    if st.query_params.get(PROJECT) != wanted:
        st.query_params[PROJECT] = wanted
    return str(wanted)


def _today(words: Wording) -> date:
    text = st.query_params.get(DAY)
    if text:
        try:
            return date.fromisoformat(text)
        except ValueError:
            st.warning(
                words.text(
                    msg(
                        "The address says as_of={text}, which is no date; today is "
                        "used. Write it as 2027-01-11.",
                        text=text,
                    )
                )
            )
    return now().date()


def _unknown_project(store: Store, words: Wording, project_id: str) -> None:
    st.title(words.text(msg("No such project")))
    st.error(
        words.text(
            msg(
                "The address names the project {id}, which is not in this database. "
                "Choose one below, or check the address.",
                id=project_id,
            )
        )
    )
    _others(store, project_id)


def _others(store: Store, project_id: str) -> None:
    for entry in store.projects():
        if entry.id != project_id and st.button(
            plain(header_title(entry.document)), key=f"open-{entry.id}"
        ):
            go_to(entry.id)


def header_title(document: str) -> str:
    """Return the title of a stored document; its first line when it cannot be read."""
    tree = read_yaml(document.encode(), "stored").tree
    title = tree.get("title") if isinstance(tree, dict) else None
    return title if isinstance(title, str) and title else document.partition("\n")[0][:60]


def plain(text: str) -> str:
    """Return a person's text so that Markdown shows it as it was typed."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]()#+-.!|~$<>:" else char for char in text)
