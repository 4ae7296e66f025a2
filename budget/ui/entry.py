"""Pieces of a form: choices in words, days that can be cleared, tables of text, and problems.

Everything is returned as text or None ("nobody has said"), so that numbers and dates are read in
one place, ``budget.documents``, and refused there in the same words as in a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pandas as pd
import streamlit as st

from budget.messages import Message, Problem, msg
from budget.ui import page
from budget.ui.page import View

KNOWN: dict[str, Message] = {"yes": msg("yes"), "no": msg("no"), "unknown": msg("unknown")}
AVAILABLE: dict[str, Message] = {
    "available": msg("available"),
    "missing": msg("missing"),
    "unknown": msg("unknown"),
}
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2199, 12, 31)


def text(
    view: View,
    label: str,
    value: object,
    key: str,
    *,
    help: str | None = None,
    placeholder: str | None = None,
) -> str | None:
    """Draw a line of text; return None where it is empty."""
    typed = st.text_input(
        label,
        "" if value is None else str(value),
        key=view.key(key),
        help=help,
        placeholder=placeholder,
    )
    return typed.strip() or None


def choice(
    view: View,
    label: str,
    options: Mapping[str, Message],
    value: str,
    key: str,
    *,
    help: str | None = None,
) -> str:
    """Draw one answer out of a few, all of them visible."""
    chosen = st.segmented_control(
        label,
        list(options),
        default=value,
        required=True,
        wrap=True,
        format_func=lambda item: view.words.text(options[item]),
        key=view.key(key),
        help=help,
    )
    return str(chosen or value)


def pick(
    view: View,
    label: str,
    options: Mapping[str, Message],
    value: str | None,
    key: str,
    *,
    help: str | None = None,
    placeholder: str | None = None,
) -> str | None:
    """Draw one answer out of many; without a placeholder the first one is the default."""
    names = list(options)
    index = names.index(value) if value in names else (None if placeholder else 0)
    return st.selectbox(
        label,
        names,
        index=index,
        format_func=lambda item: view.words.text(options[item]),
        key=view.key(key),
        help=help,
        placeholder=placeholder,
    )


def day(
    view: View, label: str, value: date | None, key: str, *, help: str | None = None
) -> str | None:
    """Draw a day that can be cleared again; return it as it stands in the document."""
    name = view.key(key)
    if value is not None and name not in st.session_state:
        # A date input offers to clear a day only when it began without one.
        st.session_state[name] = value
    chosen = st.date_input(
        label,
        None,
        min_value=min(FIRST_DAY, value or FIRST_DAY),
        max_value=max(LAST_DAY, value or LAST_DAY),
        format="YYYY-MM-DD",
        key=name,
        help=help,
    )
    return chosen.isoformat() if isinstance(chosen, date) else None


def lines(view: View, label: str, items: Sequence[str], key: str) -> list[str]:
    """Draw a list with one item per line."""
    typed = st.text_area(label, "\n".join(items), key=view.key(key), height=120)
    return [line.strip() for line in typed.splitlines() if line.strip()]


def table(
    view: View,
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, Any],
    key: str,
    *,
    alt: str,
) -> list[dict[str, str | None]]:
    """Draw a table of texts to which rows can be added; return the rows somebody filled.

    A row in which only choices with a default are set was never filled.
    """
    frame = pd.DataFrame(
        [{name: row.get(name) for name in columns} for row in rows],
        columns=list(columns),
        dtype=object,
    )
    edited = st.data_editor(
        frame,
        column_config=dict(columns),
        num_rows="dynamic",
        hide_index=True,
        key=view.key(key),
        placeholder="",
        alt=alt,
    )
    chosen = {name for name, column in columns.items() if column["type_config"].get("options")}
    found = []
    for record in edited.to_dict("records"):
        row = {str(name): _said(value) for name, value in record.items()}
        if any(value for name, value in row.items() if name not in chosen):
            found.append(row)
    return found


def problems(view: View, found: Sequence[Problem]) -> None:
    """Draw what stands in the way of a save: what is wrong, what to do, and where it stands."""
    for problem in found:
        what = view.words.text(problem.what)
        do_next = page.plain(view.words.text(problem.do_next))
        if not what.startswith(problem.where):
            what = f"{problem.where}: {what}"
        st.error(
            f"{page.plain(what)}  \n:material/arrow_forward: {do_next}", icon=":material/error:"
        )


def declared(view: View, path: str) -> str | None:
    """Return who typed a value and when, where the document says so."""
    word = view.project.declared.get(path)
    if word is None:
        return None
    return view.t("declared by {by} on {day}", by=page.plain(word.by), day=word.on)


def _said(value: object) -> str | None:
    if value is None or value is pd.NA or (isinstance(value, float) and pd.isna(value)):
        return None
    return str(value).strip() or None
