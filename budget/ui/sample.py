"""The sample campaign: measured logs and a plan around them, kept like any other project."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from budget import documents
from budget.store import Store, StoreProblem

ID = "sample"
FOLDER = Path(__file__).parent.parent.parent / "sample_logs"
DOCUMENT = FOLDER / "project.yaml"


def logs() -> tuple[Path, ...]:
    """Return the logs of the sample campaign, by name."""
    return tuple(sorted(FOLDER.glob("*.jsonl")))


def keep(store: Store, at: datetime) -> None:
    """Put the sample into a store that has none yet."""
    if store.newest(ID) is not None:
        return
    document = documents.read(DOCUMENT.read_bytes(), DOCUMENT.name)
    if document.project is None:
        raise StoreProblem(
            "the sample project cannot be read", DOCUMENT.name, "Install compute-budget again."
        )
    try:
        store.create_project(documents.write(document.project), "sample", at, "sample data", ID)
    except StoreProblem:
        return  # another process kept it first
    for path in logs():
        store.add_log(ID, path.name, path.read_bytes(), "sample", at)


def restore(store: Store, at: datetime) -> None:
    """Save the sample as it was delivered as its next revision; its history stays."""
    newest = store.newest(ID)
    document = documents.read(DOCUMENT.read_bytes(), DOCUMENT.name)
    if newest is None or document.project is None:
        return
    store.save(
        ID, documents.write(document.project), newest.number, "sample", at, "sample restored"
    )
    for path in logs():
        store.add_log(ID, path.name, path.read_bytes(), "sample", at)
