"""The plan as tables of text, and back again: which cell holds what, and what is wrong where.

A row carries a ``uid`` that nobody edits: the id under which the block or machine was saved, or a
name of its own while it is new. So a renamed block keeps its other fields, the attempts assigned
to it and the quotes of its machine. Cells are texts, flags or None ("nobody has said"); they are
read by ``documents.from_tree``, in the same words as a file. A cell that nobody changed keeps the
value it was made from, also where its text is shorter.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from budget import documents
from budget.messages import Message, Problem, msg
from budget.project import Project
from budget.ui import cells
from budget.ui.cells import GROUPS, TABLES, Cell, Column, said

Row: TypeAlias = dict[str, Cell]
Rows: TypeAlias = dict[str, list[Row]]

UID = "uid"
NEW = "+"
"""Begins the uid of a row that was never saved; no id can begin with it."""
_PLACE = re.compile(r"(blocks|environments)\[(\d+)\]\.?(.*)")


@dataclass(frozen=True)
class Trouble:
    """Something in a table that cannot be saved. ``row`` counts from 1, as on the screen."""

    table: str | None
    row: int | None
    where: Message
    what: Message
    do_next: Message


@dataclass(frozen=True)
class Edited:
    """What the tables say: the project, the troubles in the way of a save, what else it ends."""

    project: Project | None
    troubles: tuple[Trouble, ...]
    released: tuple[str, ...] = ()
    """Attempts whose assignment ends because their block was deleted."""


def rows_of(project: Project) -> Rows:
    """Return the tables of a project; every row knows the id it was saved under."""
    tree = documents.to_tree(project)
    return {
        table: [
            {UID: item["id"], "id": item["id"]}
            | {column.name: cells.shown(column, _at(item, column.path)) for column in columns}
            for item in tree[GROUPS[table]]
        ]
        for table, columns in TABLES.items()
    }


def new_row(table: str, uid: str, name: Cell = None) -> Row:
    """Return the row of something nobody has said anything about yet."""
    return {UID: uid, "id": name} | {column.name: column.default for column in TABLES[table]}


def filled(table: str, row: Row) -> bool:
    """Return whether a row says something: it was saved once, or more than its choices are set."""
    typed = [column.name for column in TABLES[table] if column.default is None]
    return not str(row[UID]).startswith(NEW) or any(row.get(name) for name in typed)


def changed(rows: Sequence[Row], state: Mapping[str, Any] | None, uids: Sequence[str]) -> list[Row]:
    """Return rows as an editor's state changed them; ``uids`` name the added ones in order."""
    if not state:
        return [dict(row) for row in rows]
    edited = {int(at): cell for at, cell in (state.get("edited_rows") or {}).items()}
    deleted = set(state.get("deleted_rows") or ())
    kept = [
        row | {str(name): said(value) for name, value in edited.get(at, {}).items()}
        for at, row in enumerate(rows)
        if at not in deleted
    ]
    fresh: list[Row] = []
    for uid, cells_of in zip(uids, state.get("added_rows") or (), strict=True):
        row: Row = {UID: uid}
        row |= {name: said(value) for name, value in cells_of.items() if not name.startswith("_")}
        fresh.append(row)
    return kept + fresh


def assemble(project: Project, rows: Rows) -> Edited:
    """Return the project that the tables describe, with every trouble named by table and row."""
    tree = documents.to_tree(project)
    saved = {group: {item["id"]: item for item in tree[group]} for group in GROUPS.values()}
    troubles: list[Trouble] = []
    machines = {str(row[UID]): row.get("id") for row in rows["machines"]}
    sides = {
        table: {row[UID]: row for row in rows[table]} for table in ("conditions", "preparation")
    }
    numbers: dict[str, list[int]] = {"blocks": [], "environments": []}
    lists: dict[str, list[dict[str, Any]]] = {"blocks": [], "environments": []}
    for table in ("machines", "plan"):
        group = GROUPS[table]
        for number, row in enumerate(rows[table], start=1):
            if not filled(table, row):
                continue
            item = copy.deepcopy(saved[group].get(str(row[UID]), {}))
            numbers[group].append(number)
            place = len(lists[group]) + 1
            _fill(item, table, row, number, machines, troubles)
            if table == "plan":
                for side, found in sides.items():
                    _fill(item, side, found[row[UID]], place, machines, troubles)
                recurs, before = item.get("recurs"), saved[group].get(str(row[UID]), {})
                if recurs and not any(recurs.values()) and before.get("recurs") != recurs:
                    item["recurs"] = None
            lists[group].append(item)
    tree |= lists
    released = _follow(tree, saved, rows)
    result, problems = documents.from_tree(tree)
    for problem in problems:
        trouble = _located(problem, numbers)
        if trouble is not None:
            troubles.append(trouble)
    return Edited(None if troubles else result, tuple(troubles), released)


def _fill(
    item: dict[str, Any],
    table: str,
    row: Row,
    number: int,
    machines: Mapping[str, Cell],
    troubles: list[Trouble],
) -> None:
    """Put the changed cells of one row into the tree of its block or machine."""
    for column in TABLES[table]:
        before, cell = _at(item, column.path), row.get(column.name)
        if column.reads == "machine":
            name = str(cell) if cell is not None else None
            value: Any = (
                machines.get(name, None if name.startswith(NEW) else name) if name else None
            )
        elif cell == cells.shown(column, before):
            continue
        else:
            value = cells.read(column, cell)
        if isinstance(value, Problem):
            troubles.append(Trouble(table, number, column.label, value.what, value.do_next))
            continue
        if value is None and before is None:
            continue
        inner = item
        for key in column.path[:-1]:
            held = dict(inner.get(key) or {})
            inner[key] = held
            inner = held
        inner[column.path[-1]] = value
    if "id" in {column.name for column in TABLES[table]} and row.get("id") is None:
        item.pop("id", None)
        what = msg("this row has no id")
        troubles.append(
            Trouble(
                table, number, msg("id"), what, msg("type a short name for it, such as reference")
            )
        )


def _follow(
    tree: dict[str, Any], saved: Mapping[str, Mapping[str, Any]], rows: Rows
) -> tuple[str, ...]:
    """Let everything that names a block or a machine follow its new id; return what ends."""
    blocks = {str(row[UID]): row.get("id") for row in rows["plan"]}
    machines = {str(row[UID]): row.get("id") for row in rows["machines"]}
    released = []
    for attempt, word in list(tree["attempts"].items()):
        block = word["block"]
        if block in saved["blocks"] and block not in blocks:
            del tree["attempts"][attempt]
            released.append(attempt)
        elif blocks.get(block) is not None:
            tree["attempts"][attempt] = {**word, "block": blocks[block]}
    for quote in tree["quotes"]:
        quote["environment"] = machines.get(quote["environment"]) or quote["environment"]
    declared = {}
    for path, word in tree["declared"].items():
        for group, names in (("blocks", blocks), ("environments", machines)):
            owner = max(
                (name for name in saved[group] if f"{path}.".startswith(f"{group}.{name}.")),
                key=len,
                default=None,
            )
            if owner is not None:
                rest = path[len(f"{group}.{owner}") :]
                path = f"{group}.{names.get(owner)}{rest}" if names.get(owner) else None
                break
        if path is not None:
            declared[path] = word
    tree["declared"] = declared
    return tuple(released)


def _located(problem: Problem, numbers: Mapping[str, list[int]]) -> Trouble | None:
    """Name a problem by table, row and column, as the person sees it."""
    found = _PLACE.fullmatch(problem.where)
    what = _without_path(problem.what)
    if found is None:
        return Trouble(None, None, msg("{path}", path=problem.where), what, problem.do_next)
    group, index, path = found[1], int(found[2]) - 1, found[3]
    if not path:
        return None  # no id: said in words of its own
    table, column = _column(group, path)
    number = numbers[group][index] if table in ("plan", "machines") else index + 1
    return Trouble(table, number, column.label, what, problem.do_next)


def _without_path(what: Message) -> Message:
    """Return a sentence that leaves the place to the line it stands in."""
    if what.text == "{field}: {what}" and isinstance(what.values["what"], Message):
        return what.values["what"]
    if "field" in what.values:
        return msgspec.structs.replace(what, values=what.values | {"field": msg("this")})
    return what


def _column(group: str, path: str) -> tuple[str, Column]:
    """Return the table and the column in which a path of the document stands."""
    for table, columns in TABLES.items():
        for column in columns:
            dotted = ".".join(column.path)
            if GROUPS[table] == group and (path == dotted or path.startswith(f"{dotted}.")):
                return table, column
    table = next(name for name, other in GROUPS.items() if other == group)
    return table, TABLES[table][0]


def _at(item: Any, path: Sequence[str]) -> Any:
    for key in path:
        item = item.get(key) if isinstance(item, dict) else None
    return item
