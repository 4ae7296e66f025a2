"""Edits that nobody has saved yet: kept per reader, and carried from one table to the others.

An editor's state counts rows by position, and an editor whose input or choices change forgets it.
So a draft keeps the input of every editor constant while its reader types. Where one table changes
what another shows (a new block, a new id, another machine), the edits of that other table, which
its reader does not look at just then, are folded into its rows and it gets a new key (``turn``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from budget.ui.cells import GROWING, Cell
from budget.ui.editing import NEW, UID, Row, Rows, changed, filled, new_row, rows_of
from budget.workflow import Opened

State = Mapping[str, Any] | None
"""What an editor reports: edited, added and deleted rows; None where it was not drawn yet."""


@dataclass
class Draft:
    """The unsaved tables of one project, and the revision they started from."""

    opened: Opened
    generation: int
    bases: Rows
    turns: dict[str, int]
    names: dict[str, str]
    """The last id that each block had in the table, by uid."""
    shape: tuple[tuple[Cell, Cell], ...]
    machines: tuple[tuple[str, Cell], ...]
    added: dict[str, list[tuple[str, Row]]] = field(
        default_factory=lambda: {table: [] for table in GROWING}
    )
    """The rows added in an editor, as it last reported them, each with its uid."""
    latest: Rows = field(default_factory=dict)
    count: int = 0
    saving: bool = False
    """Whether Save was pressed: the next run saves, when the last keystrokes have arrived."""

    def turn(self, table: str) -> str:
        """Return what sets the key of a table's editor apart from its earlier ones."""
        return f"{table}-{self.turns[table]}"


def begin(opened: Opened, generation: int) -> Draft:
    """Return the draft of somebody who has changed nothing yet."""
    rows = rows_of(opened.project)
    return Draft(
        opened=opened,
        generation=generation,
        bases=rows,
        turns=dict.fromkeys(rows, 0),
        names={str(row[UID]): str(row["id"]) for row in rows["plan"]},
        shape=_shape(rows["plan"]),
        machines=_machines(rows["machines"]),
    )


def read(draft: Draft, states: Mapping[str, State]) -> Rows:
    """Return all tables with every edit so far, after folding what other tables depend on."""
    rows = {table: _table(draft, table, states.get(table)) for table in draft.bases}
    machines = _machines(rows["machines"])
    if machines != draft.machines:
        draft.machines = machines
        _fold(draft, "plan", rows["plan"])
    shape = _shape(rows["plan"])
    if shape != draft.shape:
        renames = _renames(draft, rows["plan"])
        for table in ("conditions", "preparation"):
            known = {row[UID]: row for row in rows[table]}
            rows[table] = [
                _renamed(known.get(uid) or new_row(table, str(uid)), name, renames)
                for uid, name in shape
            ]
            _fold(draft, table, rows[table])
        draft.shape = shape
    draft.latest = rows
    return rows


def dirty(draft: Draft, rows: Rows) -> bool:
    """Return whether the tables say anything else than what was saved."""
    for table, saved in rows_of(draft.opened.project).items():
        if [row for row in rows[table] if filled(table, row)] != saved:
            return True
    return False


def _table(draft: Draft, table: str, state: State) -> list[Row]:
    latest = draft.latest.get(table)
    if state is None and latest is not None and latest != draft.bases[table]:
        _fold(draft, table, latest)  # the reader was on another page meanwhile
    if table not in GROWING:
        return changed(draft.bases[table], state, ())
    reported = [dict(row) for row in (state or {}).get("added_rows") or ()]
    draft.added[table] = _aligned(draft, draft.added[table], reported)
    uids = [uid for uid, _ in draft.added[table]]
    rows = changed(draft.bases[table], state, uids)
    return [
        new_row(table, str(row[UID])) | row if str(row[UID]).startswith(NEW) else row
        for row in rows
    ]


def _aligned(
    draft: Draft, before: Sequence[tuple[str, Row]], after: Sequence[Row]
) -> list[tuple[str, Row]]:
    """Give the added rows the uids they had: by position, unless one of them was deleted."""
    uids = [uid for uid, _ in before]
    if len(after) < len(before):
        rest = iter(before)
        same = [next((uid for uid, old in rest if old == row), None) for row in after]
        kept = [uid for uid in same if uid is not None]
        uids = kept if len(kept) == len(after) else uids[: len(after)]
    while len(uids) < len(after):
        draft.count += 1
        uids.append(f"{NEW}{draft.count}")
    return list(zip(uids, after, strict=True))


def _fold(draft: Draft, table: str, rows: list[Row]) -> None:
    draft.bases[table] = rows
    draft.turns[table] += 1
    if table in GROWING:
        draft.added[table] = []


def _shape(plan: Sequence[Row]) -> tuple[tuple[Cell, Cell], ...]:
    return tuple((row[UID], row.get("id")) for row in plan if filled("plan", row))


def _machines(rows: Sequence[Row]) -> tuple[tuple[str, Cell], ...]:
    return tuple((str(row[UID]), row.get("id")) for row in rows if row.get("id") is not None)


def _renames(draft: Draft, plan: Sequence[Row]) -> dict[str, str]:
    """Return the ids that changed since the last look, old to new."""
    found = {}
    for row in plan:
        uid, name = str(row[UID]), row.get("id")
        if name is None:
            continue
        before = draft.names.get(uid)
        if before is not None and before != name:
            found[before] = str(name)
        draft.names[uid] = str(name)
    return found


def _renamed(row: Row, name: Cell, renames: Mapping[str, str]) -> Row:
    row = row | {"id": name}
    others = row.get("depends_on")
    if isinstance(others, str):
        parts = [part.strip() for part in others.split(",")]
        if renames.keys() & set(parts):
            row["depends_on"] = ", ".join(renames.get(part, part) for part in parts)
    return row
