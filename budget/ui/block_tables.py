"""Editing the plan: four tables, what is wrong in them, and one Save for all of them."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Literal

import pandas as pd
import streamlit as st

from budget import workflow
from budget.messages import msg
from budget.ui import cells, drafts, editing, page
from budget.ui.cells import Column
from budget.ui.drafts import Draft
from budget.ui.editing import Edited, Rows, Trouble
from budget.ui.page import View

WIDE: dict[str, Literal["medium", "large"]] = {
    "title": "medium",
    "label": "medium",
    "condition.parameters": "large",
}
"""Columns whose texts are long."""
ARRIVAL_S = 0.3
"""An editor reports a keystroke 150 ms after it; Save waits so long for the last ones."""


@st.fragment
def draw(view: View) -> None:
    """Draw the tables, the troubles and the two buttons. Only these run again while typing."""
    draft = _draft(view)
    pinned = dataclasses.replace(view, opened=draft.opened)
    rows = _read(pinned, draft)
    edited = editing.assemble(draft.opened.project, rows)
    changed = drafts.dirty(draft, rows)
    if draft.opened.revision.number != view.opened.revision.number:
        st.warning(
            view.t(
                "{author} saved revision {number} while you edited. Your edits rest on revision "
                "{mine}; saving shows both versions, and nothing is overwritten.",
                author=page.plain(view.opened.revision.author),
                number=view.opened.revision.number,
                mine=draft.opened.revision.number,
            ),
            icon=":material/call_split:",
        )
    for tab, table in zip(
        st.tabs([view.words.text(title) for title in cells.TITLES.values()]),
        cells.TITLES,
        strict=True,
    ):
        with tab:
            _editor(pinned, draft, table)
    _outcome(pinned, draft, rows, edited, changed)


def _draft(view: View) -> Draft:
    """Return the draft of this project; one with edits keeps the revision it started from."""
    draft = st.session_state.get(page.DRAFT)
    if (
        isinstance(draft, Draft)
        and draft.opened.id == view.opened.id
        and draft.generation == page.generation()
    ):
        same = draft.opened.revision.number == view.opened.revision.number
        pinned = dataclasses.replace(view, opened=draft.opened)
        if same or drafts.dirty(draft, _read(pinned, draft)):
            return draft
    draft = drafts.begin(view.opened, page.generation())
    st.session_state[page.DRAFT] = draft
    return draft


def _read(pinned: View, draft: Draft) -> Rows:
    states = {table: st.session_state.get(pinned.key(draft.turn(table))) for table in cells.TABLES}
    return drafts.read(draft, states)


def _editor(view: View, draft: Draft, table: str) -> None:
    """Draw one editor. What it returns is not used: its state is read before it is drawn."""
    growing = table in cells.GROWING
    columns = cells.TABLES[table]
    frame = pd.DataFrame(
        {
            name: pd.Series(
                [row.get(name) for row in draft.bases[table]],
                dtype=bool if column is not None and column.reads == "flag" else object,
            )
            for name, column in {
                **({} if growing else {"id": None}),
                **{column.name: column for column in columns},
            }.items()
        }
    )
    configured = {column.name: _configured(view, draft, column) for column in columns}
    if not growing:
        configured["id"] = st.column_config.TextColumn(
            view.t("block"), disabled=True, pinned=True, help=view.t("Its id is changed in Plan.")
        )
    st.data_editor(
        frame,
        column_config=configured,
        num_rows="dynamic" if growing else "fixed",
        hide_index=True,
        key=view.key(draft.turn(table)),
        placeholder="",
        alt=view.words.text(cells.TITLES[table]),
    )


def _configured(view: View, draft: Draft, column: Column) -> Any:
    label, help = view.words.text(column.label), view.words.text(column.help)
    if column.reads == "flag":
        return st.column_config.CheckboxColumn(label, help=help)
    if column.reads == "machine":
        names = {uid: str(name) for uid, name in draft.machines}
        used = [row.get(column.name) for row in draft.bases["plan"]]
        options = [*names, *dict.fromkeys(str(uid) for uid in used if uid and uid not in names)]
        return st.column_config.SelectboxColumn(
            label, help=help, options=options, format_func=lambda uid: names.get(str(uid), str(uid))
        )
    if column.choices:
        return st.column_config.SelectboxColumn(
            label,
            help=help,
            options=list(column.choices),
            default=str(column.default),
            required=True,
            format_func=lambda name: view.words.text(column.choices[str(name)]),
        )
    return st.column_config.TextColumn(
        label,
        help=help,
        pinned=True if column.name == "id" else None,
        width=WIDE.get(column.name),
    )


def _outcome(view: View, draft: Draft, rows: Rows, edited: Edited, changed: bool) -> None:
    if edited.troubles and changed:
        st.error(
            "  \n".join(_sentence(view, trouble, rows) for trouble in edited.troubles),
            icon=":material/error:",
        )
    if edited.released:
        st.info(
            view.t(
                "A deleted block releases the attempts that were assigned to it: {attempts}.",
                attempts=tuple(page.plain(name) for name in edited.released),
            ),
            icon=":material/link_off:",
        )
    fits = edited.project is not None and not edited.troubles
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            view.t("Save plan"),
            type="primary",
            icon=":material/save:",
            key=view.key("save-plan"),
            disabled=not (fits and changed),
            on_click=_ask_to_save,
        )
        if st.button(
            view.t("Discard edits"),
            icon=":material/undo:",
            key=view.key("discard-plan"),
            disabled=not changed,
        ):
            st.session_state.pop(page.DRAFT, None)
            page.renew()
            st.rerun()
        st.caption(
            view.t("Not saved yet; the figures below show the saved plan.")
            if changed
            else view.t("Click a cell to edit it; a new row begins below the last one.")
        )
    if draft.saving:
        _save(view, draft, edited, fits and changed)


def _ask_to_save() -> None:
    draft = st.session_state.get(page.DRAFT)
    if isinstance(draft, Draft):
        draft.saving = True


def _save(view: View, draft: Draft, edited: Edited, fits: bool) -> None:
    with st.spinner(view.t("Saving")):
        time.sleep(ARRIVAL_S)  # what arrives meanwhile starts this run again, before the save
    draft.saving = False
    if not fits or edited.project is None:
        return
    before = draft.opened.project
    changed = [path for path, _, _ in workflow.differences(before, edited.project)]
    names = [path.removeprefix("blocks.") for path in changed]
    shown = (*names[:4], *((msg("{count} more", count=len(names) - 4),) if names[4:] else ()))
    view.save(edited.project, view.t("Plan: {fields}", fields=shown))


def _sentence(view: View, trouble: Trouble, rows: Rows) -> str:
    """Return a trouble as "Plan, row 2 (reference), planned runs: what is wrong; what to do"."""
    words = view.words
    what, do_next = words.text(trouble.what), words.text(trouble.do_next)
    if trouble.table is None or trouble.row is None:
        place = words.text(trouble.where)
    else:
        name = rows[trouble.table][trouble.row - 1].get("id")
        place = view.t(
            "{table}, row {row}, {column}",
            table=cells.TITLES[trouble.table],
            row=f"{trouble.row} ({name})" if name else trouble.row,
            column=trouble.where,
        )
    return f"**{page.plain(place)}**: {page.plain(what)}; {page.plain(do_next)}"
