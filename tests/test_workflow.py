"""Use cases through a real store: keep, save, refuse, assign, and say what became of a file."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from factory import (
    AS_OF,
    QUOTE,
    STEADY,
    assess,
    attempt,
    block,
    condition,
    log,
    project,
    replace,
    runs,
    words,
)

from budget import workflow
from budget.store import Conflict, open_store

NOON = datetime(2027, 1, 4, 12, tzinfo=UTC)
SAMPLE = next(iter(sorted((Path(__file__).parents[1] / "sample_logs").glob("*.jsonl"))))
ATTEMPTS = 17
"""Attempts in the sample log, counted by ``grep -c attempt.start``."""


@pytest.fixture
def store(tmp_path):
    with open_store(f"sqlite:///{tmp_path / 'kept.db'}") as opened:
        yield opened


@pytest.fixture
def kept(store):
    return workflow.create(store, project(), "Ada", NOON)


def saved(store, kept, plan, author="Ada"):
    return workflow.save(
        store, workflow.open_project(store, kept), plan, author, NOON, "changed"
    ).number


def declared(store, kept):
    return {
        path: word.by for path, word in workflow.open_project(store, kept).project.declared.items()
    }


def test_a_project_is_read_back_as_it_was_kept(store, kept):
    assert workflow.open_project(store, kept).project == project()


def test_a_project_that_does_not_exist_is_none(store):
    assert workflow.open_project(store, "nobody") is None


CHANGES = {
    "a number": (project(block(planned_runs=20)), ["blocks.reference.planned_runs"]),
    "a wait": (
        project(block(waits_h={"decision": 0.0, "fix": 2.0, "files": 0.0})),
        ["blocks.reference.waits_h.fix"],
    ),
    "inside a condition": (
        project(block(condition=condition(parameters={"ratio": "0.5"}))),
        ["blocks.reference.condition.parameters.ratio"],
    ),
    "a quote": (project(quotes=(replace(QUOTE, source="offer 8"),)), ["quotes.q1.source"]),
    "an assignment": (
        workflow.assign(project(), "a1", None, "shared"), ["attempts.a1.reason"],
    ),
    "a threshold": (
        project(policy=replace(project().policy, quote_age_days=60)), ["policy.quote_age_days"],
    ),
    "a title": (replace(project(), title="u"), ["title"]),
    "nothing": (project(), []),
    "a block less": (replace(project(), blocks=()), ["blocks"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_save_notes_who_declared_exactly_the_values_that_changed(store, kept, name):
    plan, paths = CHANGES[name]
    saved(store, kept, plan, "Grace")
    found = declared(store, kept)
    assert found == dict.fromkeys(paths, "Grace")


def test_the_order_of_blocks_is_no_declaration_and_a_new_block_is(store, kept):
    other = block("other", condition=condition(batch_size=8))
    saved(store, kept, project(block(), other), "Grace")
    first = declared(store, kept)
    assert {path.split(".")[1] for path in first} == {"other"}
    now = workflow.open_project(store, kept).project
    saved(store, kept, replace(now, blocks=tuple(reversed(now.blocks))), "Zoe")
    assert declared(store, kept) == first


def test_a_save_that_started_from_an_older_revision_is_refused_and_both_are_kept(store, kept):
    old = workflow.open_project(store, kept)
    saved(store, kept, project(block(planned_runs=20)))
    with pytest.raises(Conflict):
        workflow.save(store, old, project(block(planned_runs=30)), "Zoe", NOON, "late")
    assert workflow.open_project(store, kept).project.blocks[0].planned_runs == 20


def test_a_project_that_contradicts_itself_is_not_kept_and_says_where(store, kept):
    with pytest.raises(workflow.Contradiction) as raised:
        saved(store, kept, project(block(), block()))
    assert raised.value.problems
    assert workflow.open_project(store, kept).revision.number == 1


def added(store, kept, name, data):
    return workflow.add_files(store, kept, [(name, data)], "Ada", NOON, AS_OF)[0]


def test_a_log_is_kept_and_says_what_its_attempts_serve(store, kept):
    found = added(store, kept, SAMPLE.name, SAMPLE.read_bytes())
    assert (found.kept, found.problems) == (True, ())
    assert words(found.summary).startswith(f"{ATTEMPTS} attempts read")
    assert len(workflow.open_project(store, kept).logs[0].attempts) == ATTEMPTS


def test_the_same_file_under_another_name_adds_nothing(store, kept):
    added(store, kept, SAMPLE.name, SAMPLE.read_bytes())
    found = added(store, kept, "copy.jsonl", SAMPLE.read_bytes())
    assert words(found.summary) == f"already here as {SAMPLE.name}; nothing was added"
    assert len(workflow.open_project(store, kept).files) == 1


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b'{"a": 1}', b"[1, 2"])
def test_a_file_that_nobody_reads_is_not_kept_and_says_why(store, kept, data):
    found = added(store, kept, "x.jsonl", data)
    assert (found.kept, bool(found.problems)) == (False, True)
    assert workflow.open_project(store, kept).files == ()


def test_a_bad_file_loses_nothing_of_the_good_one_beside_it(store, kept):
    both = [("bad.json", b"{"), (SAMPLE.name, SAMPLE.read_bytes())]
    found = workflow.add_files(store, kept, both, "Ada", NOON, AS_OF)
    assert [item.kept for item in found] == [False, True]


def test_a_project_document_becomes_a_project_of_its_own(store, kept):
    from budget import documents

    found = added(store, kept, "plan.yaml", documents.write(project(title="other")).encode())
    assert found.opened not in (None, kept)
    assert workflow.open_project(store, found.opened).project.title == "other"


def test_a_project_document_with_problems_changes_nothing(store, kept):
    found = added(store, kept, "plan.yaml", b"title: x\nbogus: 1\n")
    assert (found.kept, found.opened, bool(found.problems)) == (False, None, True)


def summary(plan, *attempts):
    return words(workflow.summarise(log(attempts), assess(plan, *attempts).services))


def test_the_summary_counts_what_serves_and_says_why_the_rest_does_not():
    items = runs(("s1", 1.0), ("s1", 2.0))
    other = replace(attempt("x"), intended=replace(attempt().intended, batch_size=2))
    text = summary(project(), *items, other)
    assert text == (
        "3 attempts read, 2 serve reference, 1 serves nothing because it differs from reference "
        "in batch size: planned 1, measured 2"
    )


def test_the_summary_of_one_attempt_is_in_the_singular():
    assert summary(project(), attempt()) == "1 attempt read, 1 serves reference"


def test_attempts_that_serve_nothing_for_one_reason_are_counted_together():
    text = summary(replace(project(), blocks=()), *runs(("s1", 1.0), ("s1", 2.0)))
    assert text == "2 attempts read, 2 serve nothing because the plan has no blocks yet"


def test_a_person_assigns_and_takes_it_back():
    item = replace(attempt(), intended=replace(attempt().intended, batch_size=2))
    plan = workflow.assign(project(), "a1", "reference", "batch size was logged wrongly")
    back = workflow.unassign(plan, "a1")
    found = [assess(one, item).service("a1").block for one in (plan, back)]
    assert found == ["reference", None]
    assert back == project()


def test_a_pinned_day_replaces_today_but_not_the_day_that_was_asked_for():
    plan = project(as_of=date(2027, 1, 2))
    days = [workflow.assess(plan, (), date(2027, 5, 1), asked=asked).as_of
            for asked in (False, True)]  # fmt: skip
    assert days == [date(2027, 1, 2), date(2027, 5, 1)]


def test_removing_all_quotes_removes_every_amount_and_adds_the_reason():
    items = runs(*STEADY)
    full = assess(project(), *items)
    bare = assess(project(quotes=()), *items)
    three = bare.decision.totals
    amounts = [
        *(item.cost for item in (three.spent, three.remaining, three.sum)),
        *(item.cost.part for item in (three.spent, three.remaining, three.sum)),
        *(line.amount for item in bare.scenarios for line in item.lines),
        *(line.rate for item in bare.scenarios for line in item.lines),
    ]
    assert full.decision.totals.sum.cost.known
    assert [figure for figure in amounts if figure is not None and figure.known] == []
    assert "quotes" in {need.where for need in bare.decision.missing}


def test_every_threshold_is_assumed_until_somebody_confirms_it():
    rows = {row.name: row.figure.state.value for row in workflow.thresholds(project())}
    assert set(rows.values()) == {"assumed"}
    changed = project(policy=replace(project().policy, range_level=0.9))
    rows = {row.name: row.figure.state.value for row in workflow.thresholds(changed)}
    assert (rows["range_level"], rows["size_tolerance"]) == ("declared", "assumed")
