"""What the page tests share: reading the screen and finding its controls."""

from datetime import UTC, datetime

import msgspec

from budget import documents, workflow
from budget.store import open_store
from budget.ui import sample

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
KINDS = ("markdown", "caption", "header", "subheader", "title", "info", "success", "error",
         "warning", "code")  # fmt: skip


def shown(app):
    """Every text on the screen, without the marks that keep Markdown out of it."""
    texts = [str(item.value) for kind in KINDS for item in getattr(app, kind)]
    texts += [str(cell) for table in app.table for cell in table.value.to_numpy().ravel()]
    return "\n".join(texts).replace("\\", "")


def opened(app, name):
    """The page ``name`` of the project that the address names."""
    app.run()
    return app.switch_page(f"pages/{name}.py").run()


def own(app, name):
    """The page ``name`` of a fresh project of one's own."""
    app.run()
    next(item for item in app.button if item.key == "start-own").click().run()
    return app.switch_page(f"pages/{name}.py").run()


def field(app, kind, label, index=0):
    """The control of a kind with a label; several cards have the same labels."""
    return [item for item in getattr(app, kind) if item.label == label][index]


def press(app, label):
    next(item for item in app.button if item.label == label).click().run()
    assert not app.exception
    return app


def project(database, project_id=sample.ID):
    """The project as it is saved now."""
    with open_store(database) as store:
        text = store.newest(project_id).document
    return documents.read(text.encode(), "saved").project


def saved_elsewhere(database, **changes):
    """Save the sample with some parts replaced, as another browser would."""
    with open_store(database) as store:
        now = workflow.open_project(store, sample.ID)
        changed = msgspec.structs.replace(now.project, **changes)
        workflow.save(store, now, changed, "other", NOON, "changed elsewhere")
