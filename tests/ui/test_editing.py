"""The plan as tables: unchanged it is the same plan, and every edit says what it means."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budget import documents
from budget.project import (
    Assignment,
    Block,
    Condition,
    Environment,
    Prepare,
    Project,
    Quote,
    Recurrence,
)
from budget.store import Revision
from budget.ui import cells, drafts, editing
from budget.wording import Wording
from budget.workflow import Opened

SAMPLE = Path(__file__).parent.parent.parent / "sample_logs" / "project.yaml"
WORDS = Wording()
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def sample():
    return documents.read(SAMPLE.read_bytes(), SAMPLE.name).project


def opened(project):
    revision = Revision("p", 1, "", "a", NOON, "", None)
    return Opened(id="p", revision=revision, project=project, problems=(), files=(), logs=())


def edits(**rows):
    """An editor's state in which cells of rows were changed: row0={"title": "x"}."""
    return {"edited_rows": {int(name[3:]): cell for name, cell in rows.items()},
            "added_rows": [], "deleted_rows": []}  # fmt: skip


def after(project, **states):
    """The project that a plan's tables describe after these edits."""
    draft = drafts.begin(opened(project), 0)
    return editing.assemble(project, drafts.read(draft, states))


def sentences(edited):
    return [
        f"{trouble.table} {trouble.row} {WORDS.text(trouble.where)}: "
        f"{WORDS.text(trouble.what)}; {WORDS.text(trouble.do_next)}"
        for trouble in edited.troubles
    ]


def test_the_sample_comes_back_as_it_was(sample):
    edited = after(sample)
    assert edited.project == sample
    assert edited.troubles == ()


NAMES = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,8}\Z")
TEXTS = st.none() | st.text("aé,=. 1", min_size=1, max_size=8).map(str.strip).filter(bool)
HOURS = st.sampled_from([None, 0, 0.5, 4, 1.125, 1 / 3, 1234.5])
COUNTS = st.none() | st.integers(1, 10**7)
PARAMETERS = st.dictionaries(st.text("ab=,", min_size=1, max_size=3), st.text("1., x", max_size=4))
MACHINES = st.builds(
    Environment,
    id=NAMES,
    label=TEXTS,
    gpu_count=st.none() | st.integers(0, 8),
    gpu_memory_bytes=COUNTS,
    ram_bytes=COUNTS,
    available_hours_per_week=st.sampled_from([None, 0, 1.125, 168]),
    libraries=st.dictionaries(NAMES, st.just("1.2")),
)
BLOCKS = st.builds(
    Block,
    id=NAMES,
    title=TEXTS,
    condition=st.builds(Condition, code=TEXTS, batch_size=COUNTS, parameters=PARAMETERS),
    planned_runs=COUNTS,
    prepare=st.builds(Prepare, on_rented_machine=st.booleans()),
    waits_h=st.dictionaries(st.sampled_from(["decision", "fix", "queue"]), HOURS),
    recurs=st.none() | st.builds(Recurrence, runs_per_week=st.sampled_from([None, 0.25, 20])),
    count_trials=st.booleans(),
)


@settings(max_examples=40, deadline=None, database=None)
@given(st.lists(BLOCKS, max_size=3, unique_by=lambda item: item.id),
       st.lists(MACHINES, max_size=2, unique_by=lambda item: item.id))  # fmt: skip
def test_any_plan_comes_back_as_it_was(blocks, machines):
    project = Project(title="t", blocks=tuple(blocks), environments=tuple(machines))
    edited = after(project)
    assert sentences(edited) == []
    assert edited.project == project


@pytest.fixture
def plan():
    return Project(
        title="t",
        environments=(Environment(id="host", gpu_count=1), Environment(id="other")),
        blocks=(
            Block(id="first", environment="host", planned_runs=5, waits_h={"fix": None}),
            Block(id="second", environment="host", depends_on=("first",)),
            Block(id="third", depends_on=("first", "second")),
        ),
        attempts={"s/1": Assignment(block="first", reason="same")},
        quotes=(Quote(id="q", environment="host"),),
    )


def test_a_renamed_block_keeps_its_fields_attempts_and_those_that_wait_for_it(plan):
    edited = after(plan, plan=edits(row0={"id": "bring-up"}))
    assert edited.troubles == ()
    assert edited.project.blocks[0] == msgspec.structs.replace(plan.blocks[0], id="bring-up")
    assert edited.project.attempts["s/1"].block == "bring-up"
    assert edited.project.blocks[1].depends_on == ("bring-up",)
    assert edited.project.blocks[2].depends_on == ("bring-up", "second")


def test_two_blocks_may_swap_their_ids(plan):
    edited = after(plan, plan=edits(row0={"id": "second"}, row1={"id": "first"}))
    assert edited.troubles == ()
    assert edited.project.attempts["s/1"].block == "second"
    assert edited.project.blocks[1].depends_on == ("second",)


def test_a_renamed_machine_keeps_its_blocks_and_its_quotes(plan):
    edited = after(plan, machines=edits(row0={"id": "h100"}))
    assert edited.troubles == ()
    assert edited.project.blocks[0].environment == "h100"
    assert edited.project.quotes[0].environment == "h100"


def test_an_id_that_is_cleared_and_typed_anew_is_still_a_rename(plan):
    draft = drafts.begin(opened(plan), 0)
    gone = editing.assemble(plan, drafts.read(draft, {"plan": edits(row0={"id": None})}))
    assert "plan 1 id: this row has no id" in sentences(gone)[0]
    rows = drafts.read(draft, {"plan": edits(row0={"id": "new"})})
    assert editing.assemble(plan, rows).project.blocks[1].depends_on == ("new",)


def test_a_deleted_block_releases_its_attempts_and_is_missed_by_name(plan):
    edited = after(plan, plan={"deleted_rows": [0]})
    assert edited.released == ("s/1",)
    assert sentences(edited)[0].startswith(
        "preparation 1 depends on: block second depends on first, which is no other block"
    )


def test_a_new_block_has_its_row_in_the_other_tables_before_anything_is_saved(plan):
    draft = drafts.begin(opened(plan), 0)
    state = {"added_rows": [{"id": "fourth", "kind": "extension"}]}
    rows = drafts.read(draft, {"plan": state})
    assert [row["id"] for row in rows["conditions"]] == ["first", "second", "third", "fourth"]
    sizes = edits(row3={"condition.model": "m", "condition.parameters": "ratio=0.3, seed=0"})
    rows = drafts.read(draft, {"plan": state, "conditions": sizes})
    project = editing.assemble(plan, rows).project
    assert project.blocks[3] == Block(
        id="fourth",
        kind="extension",
        condition=Condition(model="m", parameters={"ratio": "0.3", "seed": "0"}),
    )


def test_deleting_one_of_two_new_blocks_leaves_the_other_its_condition(plan):
    draft = drafts.begin(opened(plan), 0)
    both = {"added_rows": [{"id": "a"}, {"id": "b"}]}
    drafts.read(draft, {"plan": both})
    model = edits(row4={"condition.model": "of b"})
    drafts.read(draft, {"plan": both, "conditions": model})
    one = {"added_rows": [{"id": "b"}]}
    rows = drafts.read(draft, {"plan": one, "conditions": model})
    project = editing.assemble(plan, rows).project
    assert project.blocks[3].id == "b"
    assert project.blocks[3].condition.model == "of b"


def test_edits_of_the_plan_survive_a_change_of_its_machines(plan):
    draft = drafts.begin(opened(plan), 0)
    state = edits(row0={"planned_runs": "9"}) | {"added_rows": [{"id": "fourth"}]}
    machine = {"added_rows": [{"id": "big"}]}
    drafts.read(draft, {"plan": state})
    drafts.read(draft, {"plan": state, "machines": machine})
    turned = draft.turn("plan")
    rows = drafts.read(draft, {"plan": edits(row3={"environment": "+2"}), "machines": machine})
    project = editing.assemble(plan, rows).project
    assert turned == "plan-1"
    assert project.blocks[0].planned_runs == 9
    assert (project.blocks[3].id, project.blocks[3].environment) == ("fourth", "big")


def test_a_row_in_which_only_choices_are_set_is_no_block(plan):
    edited = after(plan, plan={"added_rows": [{"kind": "reference", "status": "undetermined"}]})
    assert edited.project == plan


def test_edits_survive_a_visit_to_another_page(plan):
    draft = drafts.begin(opened(plan), 0)
    drafts.read(draft, {"plan": edits(row0={"title": "kept"})})
    rows = drafts.read(draft, {})
    assert rows["plan"][0]["title"] == "kept"
    assert drafts.dirty(draft, rows)


@pytest.mark.parametrize(
    ("table", "cell", "says"),
    [
        ("plan", {"planned_runs": "0"}, "plan 1 planned runs: this is 0, but must be at least 1"),
        ("plan", {"planned_runs": "-1"}, "plan 1 planned runs: this is -1, but must be at least 1"),
        ("plan", {"planned_runs": "1.000"}, '"1.000" is ambiguous; write 1000 or 1.0'),
        ("plan", {"planned_runs": "1,5"}, "must be a whole number"),
        ("plan", {"waits_h.fix": "soon"}, 'plan 1 wait, fix (h): "soon" is not a number'),
        ("plan", {"id": "second"}, "plan 2 id: the id second is used twice in blocks"),
        ("plan", {"id": "ü b"}, "plan 1 id: this is ü b, which is not allowed here"),
        ("plan", {"id": None}, "plan 1 id: this row has no id"),
        ("plan", {"status": "confirmed"}, "plan 1 status: block first is confirmed by the"),
        ("plan", {"gpus": "4"}, "plan 1 GPUs: block first uses 4 GPUs, the machine has 1"),
        ("conditions", {"condition.batch_size": "0"}, "conditions 1 batch size: this is 0"),
        ("conditions", {"condition.parameters": "ratio"}, '"ratio" is no parameter with a value'),
        ("conditions", {"condition.parameters": "a=1, a=2"}, "the parameter a stands here twice"),
        ("preparation", {"depends_on": "nobody"}, "depends on nobody, which is no other block"),
        ("preparation", {"recurs.until": "soon"}, "recurs until: this is soon, which is no date"),
        ("machines", {"gpu_memory_bytes": "80"}, "which unit of memory; write 80 GiB"),
        ("machines", {"gpu_memory_bytes": "80 GB"}, "a unit that is read in two ways"),
        ("machines", {"available_hours_per_week": "169"}, "free hours per week: this is 169"),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_is_named_by_table_row_and_column(plan, table, cell, says):
    edited = after(plan, **{table: edits(row0=cell)})
    assert edited.project is None
    assert says in "\n".join(sentences(edited))


@pytest.mark.parametrize(
    ("cell", "value"),
    [("1 234", 1234), ("1.234,0", 1234), (" 7 ", 7), (None, None), ("", None)],
)
def test_numbers_are_read_as_people_type_them(plan, cell, value):
    edited = after(plan, plan=edits(row0={"planned_runs": cell}))
    assert edited.project.blocks[0].planned_runs == value


@pytest.mark.parametrize(
    ("text", "size"),
    [("80 GiB", 80 * 2**30), ("79,5GiB", 79.5 * 2**30), ("512 MiB", 2**29),
     ("85520809984", 85520809984)],
)  # fmt: skip
def test_memory_is_read_with_its_unit_or_in_bytes(plan, text, size):
    edited = after(plan, machines=edits(row0={"gpu_memory_bytes": text}))
    assert edited.project.environments[0].gpu_memory_bytes == size


def test_memory_nobody_changed_keeps_its_bytes():
    project = Project(title="t", environments=(Environment(id="a", gpu_memory_bytes=85520809984),))
    edited = after(project, machines=edits(row0={"label": "x"}))
    assert editing.rows_of(project)["machines"][0]["gpu_memory_bytes"] == "79.65 GiB"
    assert edited.project.environments[0].gpu_memory_bytes == 85520809984


def test_every_field_of_a_block_and_of_a_machine_has_one_column():
    found = [
        (cells.GROUPS[table], column.path[0])
        for table, columns in cells.TABLES.items()
        for column in columns
    ]
    blocks = {name for group, name in found if group == "blocks"}
    machines = {name for group, name in found if group == "environments"}
    assert blocks == set(Block.__struct_fields__)
    assert machines == set(Environment.__struct_fields__) - {"libraries"}
