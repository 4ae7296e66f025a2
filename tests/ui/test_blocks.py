"""The page Blocks: editing the plan in tables, and the estimate of every block."""

from datetime import UTC, datetime

import msgspec
import pytest

from budget import workflow
from budget.project import Assignment, Block, Environment, Project
from budget.store import open_store
from budget.ui import page, plan_charts, sample

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def shown(app):
    """Every text on the screen."""
    kinds = ("markdown", "caption", "subheader", "title", "info", "error", "warning", "toast")
    lines = [str(item.value) for kind in kinds for item in getattr(app, kind)]
    return "\n".join([*lines, *(item.label for item in app.expander)]).replace("\\", "")


def button(app, name):
    return next(item for item in app.button if item.key.startswith(name))


@pytest.fixture
def blocks(app):
    """Open the page on a project; returns the dashboard."""

    def open_page(project_id=sample.ID):
        app.run()
        app.query_params["project"] = project_id
        app.run()
        app.switch_page("pages/blocks.py").run()
        assert not app.exception
        return app

    return open_page


@pytest.fixture
def kept(app, database):
    """Keep a project in the dashboard's database; returns its id."""

    def keep(project):
        app.run()
        with open_store(database) as store:
            return workflow.create(store, project, "tester", NOON)

    return keep


def type_in(app, table, turn=0, **state):
    """Leave an editor in the state that somebody's typing gives it."""
    draft = app.session_state[page.DRAFT]
    revision, generation = draft.opened.revision.number, draft.generation
    key = f"{table}-{turn}-{draft.opened.id}-{revision}-{generation}"
    app.session_state[key] = {"edited_rows": {}, "added_rows": [], "deleted_rows": [], **state}
    app.run()
    assert not app.exception


def saved(database, project_id):
    with open_store(database) as store:
        return workflow.open_project(store, project_id).project


PLAN = Project(
    title="t",
    environments=(Environment(id="host"),),
    blocks=(Block(id="first", planned_runs=5), Block(id="second", depends_on=("first",))),
    attempts={"s/1": Assignment(block="first", reason="same sizes")},
)


def test_an_empty_plan_says_how_to_begin(blocks, kept, database):
    project_id = kept(Project(title="empty"))
    app = blocks(project_id)
    assert "no blocks yet" in shown(app)
    assert "Go to Measurements" in str([item.proto.label for item in app.get("page_link")])
    button(app, "first-block").click().run()
    assert not app.exception
    assert saved(database, project_id).blocks == (Block(id="reference"),)
    assert "needs its own trial" in shown(app)
    assert "missing" in shown(app)


def test_the_sample_shows_what_each_block_takes_and_which_needs_a_trial(blocks):
    app = blocks()
    lines = [item.label.replace("\\", "") for item in app.expander if "·" in item.label]
    assert len(lines) == 8
    assert lines[0].startswith("**reference** · Reference bring-up, full cache · **1.5 h to come**")
    assert "(34.1 min to 54.8 min, n = 4, k = 2)" in lines[1]
    assert "needs its own trial" in lines[7]
    assert "to come: 4.8 min (0 h to 12.1 min), n = 8, k = 2 · spent: 11.6 s" in shown(app)
    assert len(app.get("vega_lite_chart")) == 2


def test_a_block_without_attempts_names_the_nearest_one_and_what_differs(blocks):
    app = blocks()
    app.session_state[f"block-{sample.ID}-extension-4096"] = True
    app.run()
    assert not app.exception
    assert "The nearest measured attempt is" in shown(app)
    assert "input tokens: planned 4096, measured 1536" in shown(app)


def test_an_edit_changes_the_figure_once_it_is_saved(blocks, database):
    app = blocks()
    assert button(app, "save-plan").disabled
    type_in(app, "plan", edited_rows={0: {"planned_runs": "400"}})
    assert "Not saved yet" in shown(app)
    assert "1.5 h to come" in shown(app)
    button(app, "save-plan").click().run()
    assert not app.exception
    assert "Saved: Plan: reference.planned_runs" in shown(app)
    # 2 x (4.8 + 17.9 + 7.7) min of load, run and unattributed, and 1 h of declared waits
    assert "2.0 h to come" in shown(app)
    assert saved(database, sample.ID).blocks[0].planned_runs == 400
    assert button(app, "save-plan").disabled


def test_edits_of_all_four_tables_are_saved_together(blocks, kept, database):
    project_id = kept(PLAN)
    app = blocks(project_id)
    type_in(app, "plan", edited_rows={0: {"waits_h.fix": "1,5"}}, added_rows=[{"id": "third"}])
    type_in(app, "conditions", 1, edited_rows={2: {"condition.model": "m"}})
    type_in(app, "preparation", 1, edited_rows={2: {"depends_on": "first, second"}})
    type_in(app, "machines", edited_rows={0: {"available_hours_per_week": "40"}})
    button(app, "save-plan").click().run()
    assert not app.exception
    project = saved(database, project_id)
    assert project.blocks[0].waits_h == {"fix": 1.5}
    assert project.blocks[2].condition.model == "m"
    assert project.blocks[2].depends_on == ("first", "second")
    assert project.environments[0].available_hours_per_week == 40


def test_discarding_gives_up_every_edit(blocks, kept, database):
    project_id = kept(PLAN)
    app = blocks(project_id)
    type_in(app, "plan", edited_rows={0: {"title": "not meant"}})
    button(app, "discard-plan").click().run()
    assert "Not saved yet" not in shown(app)
    assert saved(database, project_id) == PLAN


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ({"planned_runs": "0"}, "Plan, row 1 (first), planned runs**: this is 0, but must be"),
        ({"planned_runs": "-1"}, "Plan, row 1 (first), planned runs**: this is -1, but must be"),
        ({"planned_runs": "1.000"}, '"1.000" is ambiguous; write 1000 or 1.0'),
        ({"id": "second"}, "Plan, row 2 (second), id**: the id second is used twice"),
        ({"status": "confirmed"}, "is confirmed by the protocol but says not where"),
    ],
)
def test_a_bad_cell_gets_a_sentence_and_nothing_can_be_saved(blocks, kept, cell, says):
    app = blocks(kept(PLAN))
    type_in(app, "plan", edited_rows={0: cell})
    assert says in shown(app)
    assert button(app, "save-plan").disabled
    assert not button(app, "discard-plan").disabled


def test_renaming_a_block_keeps_its_attempts_and_those_that_wait_for_it(blocks, kept, database):
    project_id = kept(PLAN)
    app = blocks(project_id)
    type_in(app, "plan", edited_rows={0: {"id": "bring-up"}})
    button(app, "save-plan").click().run()
    project = saved(database, project_id)
    assert project.blocks[0].planned_runs == 5
    assert project.blocks[1].depends_on == ("bring-up",)
    assert project.attempts["s/1"].block == "bring-up"


def test_a_deleted_block_says_which_attempts_it_releases(blocks, kept):
    app = blocks(kept(PLAN))
    type_in(app, "plan", deleted_rows=[0])
    assert "releases the attempts that were assigned to it: s/1" in shown(app)
    assert "depends on first, which is no other block" in shown(app)


def test_a_save_by_someone_else_in_between_shows_both_versions(blocks, kept, database):
    project_id = kept(PLAN)
    app = blocks(project_id)
    type_in(app, "plan", edited_rows={0: {"title": "mine"}})
    with open_store(database) as store:
        opened = workflow.open_project(store, project_id)
        theirs = msgspec.structs.replace(opened.project.blocks[0], title="theirs")
        project = msgspec.structs.replace(opened.project, blocks=(theirs, *PLAN.blocks[1:]))
        workflow.save(store, opened, project, "somebody", NOON, "title changed")
    app.run()
    assert "somebody saved a newer version: title changed" in shown(app)
    button(app, "save-plan").click().run()
    assert not app.exception
    assert "Your change was not saved" in shown(app)
    table = next(item.value for item in app.dataframe if "yours" in item.value)
    assert ["blocks.first.title", "mine", "theirs"] in table.values.tolist()
    assert saved(database, project_id).blocks[0].title == "theirs"


def test_edits_survive_a_visit_to_another_page(blocks, kept):
    app = blocks(kept(PLAN))
    type_in(app, "plan", edited_rows={0: {"title": "kept"}})
    app.switch_page("pages/quotes.py").run()
    app.switch_page("pages/blocks.py").run()
    assert not app.exception
    assert "Not saved yet" in shown(app)


def test_a_missing_component_keeps_its_row_and_its_word_in_the_chart():
    load = plan_charts.Bar(name="load", hours=0.5, low_h=0.4, high_h=0.6, text="30.0 min")
    run = plan_charts.Bar(name="run", hours=None, low_h=None, high_h=None, text="missing")
    chart = plan_charts.components([load, run], axis_h="h", axis_min="min", value="value")
    rows = next(iter(chart.to_dict()["datasets"].values()))
    assert [row["row"] for row in rows] == ["load: 30.0 min", "run: missing"]
    assert rows[0]["value"] == 30
    assert rows[1]["value"] is None
    assert plan_charts.described([load, run], "Hours") == "Hours: load 30.0 min; run missing"
