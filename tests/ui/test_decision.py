"""The page Decision and the header that every page has."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from budget import documents, workflow
from budget.store import Conflict, open_store
from budget.ui import page, sample

LOG = next(iter(sample.logs()))
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def shown(app):
    """Every text on the screen."""
    kinds = ("markdown", "caption", "header", "subheader", "title", "info", "success", "error",
             "warning", "code")  # fmt: skip
    texts = "\n".join(str(item.value) for kind in kinds for item in getattr(app, kind))
    return texts.replace("\\", "")  # without the marks that keep Markdown out of a name


def button(app, key):
    return next(item for item in app.button if item.key == key)


def project_of(app):
    """The project that the address names."""
    value = app.query_params["project"]
    return value if isinstance(value, str) else value[0]


def refreshed(app):
    """The newest state, as a reader sees it who asks for what somebody else has saved."""
    return button(app.run(), "show-newest").click().run()


def own_project(app):
    """Start a project of one's own and return its id."""
    button(app.run(), "start-own").click().run()
    return project_of(app)


def test_the_first_screen_is_the_decision_of_the_sample(app):
    app.run()
    assert not app.exception
    assert "Sample data." in shown(app)
    assert app.button[0].key == "start-own"
    assert app.header[0].value.startswith("Rent")
    assert "pinned" in shown(app)


def test_starting_ones_own_project_shows_how_to_begin(app):
    own_project(app)
    assert not app.exception
    assert "Nothing to decide yet" in shown(app)
    assert "Sample data." not in shown(app)
    assert "python3 probe.pyz run" in shown(app)


def test_a_log_dropped_on_the_decision_says_what_it_became(app):
    own_project(app)
    app.file_uploader[0].upload(LOG.name, LOG.read_bytes()).run()
    assert not app.exception
    assert "17 attempts read" in shown(app)
    assert "the plan has no blocks yet" in shown(app)


def test_the_same_log_twice_adds_nothing_and_says_so(app, database):
    project = own_project(app)
    app.file_uploader[0].upload(LOG.name, LOG.read_bytes()).run()
    app.file_uploader[0].upload("copy.jsonl", LOG.read_bytes()).run()
    assert f"already here as {LOG.name}" in shown(app)
    with open_store(database) as store:
        assert len(store.logs(project)) == 1


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("empty.jsonl", b"", "empty"),
        ("foreign.json", b'{"results": [1, 2]}', "results"),
        ("latin.jsonl", '{"event": "Gerät"}'.encode("latin-1"), "UTF-8"),
        ("plan.yaml", b"title: x\nbogus: 1\n", "bogus"),
        ("twice.yaml", b"title: x\ntitle: y\n", "stands here again"),
    ],
)
def test_a_file_that_cannot_be_read_gets_a_sentence_and_nothing_is_kept(
    app, database, name, data, says
):
    project = own_project(app)
    app.file_uploader[0].upload(name, data).run()
    assert not app.exception
    texts = shown(app) + "\n".join(str(frame.value.to_dict()) for frame in app.dataframe)
    assert says in texts
    with open_store(database) as store:
        assert not store.logs(project)


def test_a_dropped_project_document_becomes_a_project_of_its_own(app):
    before = own_project(app)
    app.file_uploader[0].upload("plan.yaml", b"schema: compute-budget/1\ntitle: Our plan\n").run()
    assert not app.exception
    assert project_of(app) != before
    assert "**Our plan**" in shown(app)


def test_removing_the_quotes_removes_every_amount_and_says_why(app, database):
    app.run()
    with open_store(database) as store:
        opened = workflow.open_project(store, sample.ID)
        bare = msgspec.structs.replace(opened.project, quotes=())
        workflow.save(store, opened, bare, "tester", NOON, "quotes removed")
    assert " EUR example" in shown(app.run())  # what others save is announced, not slipped under
    refreshed(app)
    texts = shown(app)
    assert " EUR example" not in texts
    assert "no rental price for cpu-host" in texts
    assert not app.exception


def test_an_address_of_no_project_says_so_and_lists_those_there_are(app):
    app.query_params["project"] = "nowhere"
    app.run()
    assert not app.exception
    assert "nowhere" in shown(app)
    assert [item for item in app.button if item.key == "open-sample"]


def test_a_day_in_the_address_is_the_day_of_the_decision(app):
    own_project(app)
    app.query_params["as_of"] = "2031-05-04"
    app.run()
    assert "as of 2031-05-04" in shown(app)


def test_a_day_that_is_none_is_refused_with_a_sentence(app):
    own_project(app)
    app.query_params["as_of"] = "soon"
    app.run()
    assert not app.exception
    assert "as_of=soon" in shown(app)


def test_two_people_changing_one_project_see_both_versions(app, database):
    """The second save names a revision that is no longer the newest."""
    app.run()
    with open_store(database) as store:
        opened = workflow.open_project(store, sample.ID)
        mine = msgspec.structs.replace(opened.project, title="mine")
        theirs = msgspec.structs.replace(opened.project, title="theirs")
        workflow.save(store, opened, theirs, "somebody", NOON, "title changed")
        try:
            workflow.save(store, opened, mine, "tester", NOON, "title changed")
        except Conflict as conflict:
            app.session_state[page.CONFLICT] = conflict
    refreshed(app)
    assert not app.exception
    assert "was not saved" in shown(app)
    table = app.dataframe[0].value
    assert ["title", "mine", "theirs"] in table.values.tolist()
    button(app, "conflict-mine").click().run()
    with open_store(database) as store:
        assert (
            documents.read(store.newest(sample.ID).document.encode(), "x").project.title == "mine"
        )


def test_the_sample_can_be_restored_after_somebody_changed_it(app, database):
    app.run()
    with open_store(database) as store:
        opened = workflow.open_project(store, sample.ID)
        changed = msgspec.structs.replace(opened.project, title="changed")
        workflow.save(store, opened, changed, "somebody", NOON, "title changed")
    button(refreshed(app), "restore-sample").click().run()
    with open_store(database) as store:
        project = documents.read(store.newest(sample.ID).document.encode(), "x").project
    assert project.title.startswith("Sample")


def test_a_database_that_cannot_be_opened_gets_a_sentence(app, monkeypatch, tmp_path):
    garbage = Path(tmp_path / "garbage.sqlite3")
    garbage.write_bytes(b"no database at all" * 100)
    monkeypatch.setenv("COMPUTE_BUDGET_DATABASE_URL", f"sqlite:///{garbage}")
    app.run()
    assert not app.exception
    assert "cannot be opened" in shown(app)
