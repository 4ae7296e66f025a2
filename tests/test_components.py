"""Hours per component: how often each still happens, and what no log can say."""

import msgspec
import pytest
from factory import (
    LINE,
    START,
    STEADY,
    at,
    attempt,
    block,
    call,
    estimated,
    phase,
    project,
    replace,
    runs,
    words,
)

from budget.attempts import Phase
from budget.components import COMPONENTS
from budget.figures import State
from budget.project import Assignment, Declaration, Prepare

HERE = {per: Prepare(per=per) for per in ("block", "session", "run")}


def prepared(**changes):
    """Two attempts in one session: 720 s prepare, 360 s load, 3600 s run, 20 s of no phase."""
    return tuple(
        attempt(
            f"a{index}",
            started_at=at(index),
            duration_s=4700.0,
            phases=tuple(
                phase(name, seconds, f"a{index}")
                for name, seconds in (("prepare", 720.0), ("load", 360.0), ("run", 3600.0))
            ),
            **changes,
        )
        for index in (1, 2)
    )


def hours(plan, *attempts):
    found = estimated(project(plan), *attempts)
    return {name: found.remaining[name].value for name in COMPONENTS}


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        # 10 runs and 2 sessions are planned; 360 s = 0.1 h, 720 s = 0.2 h, 20 s = 1/180 h
        ({}, "run", 10.0),
        ({}, "load", 1.0),
        ({"load_per": "session"}, "load", 0.2),
        ({"prepare": HERE["block"]}, "prepare", 0.2),
        ({"prepare": HERE["session"]}, "prepare", 0.4),
        ({"prepare": HERE["run"]}, "prepare", 2.0),
        ({"prepare": Prepare(on_rented_machine=False)}, "prepare", None),
        ({}, "unattributed", 10 / 180),
        ({}, "retry", None),
        ({"waits_h": {"decision": 4, "fix": 1.5, "files": 0, "queue": 0.5}}, "wait", 6.0),
    ],
)
def test_each_component_happens_as_often_as_the_plan_says(changes, name, expected):
    value = hours(block(**changes), *prepared())[name]
    assert value == (None if expected is None else pytest.approx(expected))


def test_preparing_elsewhere_is_not_on_this_bill_and_is_not_missing():
    figure = estimated(project(), *prepared()).remaining["prepare"]
    assert figure.state is State.NOT_APPLICABLE


def test_calls_are_the_units_and_the_rest_of_the_run_happens_once_per_process():
    # 20 calls of 36 s in a run phase of 800 s: 500 calls planned = 5 h; besides calls and phases
    # 800 - 720 + 10 = 90 s per process, and 2 sessions are planned: 180 s = 0.05 h; 2 loads: 0.2 h
    item = attempt(run_s=800.0, calls=tuple(call(36.0, index) for index in range(20)))
    plan = block(unit="call", planned_runs=500, load_per="session")
    found = estimated(project(plan), item)
    assert found.remaining["run"].value == pytest.approx(5.0)
    assert (found.remaining["run"].n, found.remaining["run"].k) == (20, 1)
    assert found.remaining["unattributed"].value == pytest.approx(0.05)
    assert found.remaining["load"].value == pytest.approx(0.2)


def test_calls_that_nobody_counted_are_missing_and_not_taken_from_the_run():
    found = estimated(project(block(unit="call")), *prepared())
    assert words(found.remaining["run"].why) == (
        "the log counts no calls: plan in attempts, or record calls"
    )


def test_attempts_without_any_phase_still_give_a_total():
    # 10 runs x 3970 s = 11.03 h, all of it unattributed
    items = tuple(attempt(f"a{i}", phases=(), started_at=at(i)) for i in (1, 2))
    found = estimated(project(), *items)
    assert found.remaining_h.value == pytest.approx(39700 / 3600)
    assert found.remaining["run"].state is State.MISSING
    assert "prepare, load and run are one" in words(found.notes)


def test_without_phases_preparation_is_inside_the_total_and_not_asked_for():
    items = tuple(attempt(f"a{i}", phases=(), started_at=at(i)) for i in (1, 2))
    assert estimated(project(block(prepare=HERE["session"])), *items).remaining_h.known


def test_preparation_that_no_attempt_with_phases_recorded_is_missing():
    found = estimated(project(block(prepare=HERE["session"])), *runs(("s1", 3600.0)))
    assert not found.remaining_h.known
    assert "prepare" in words(found.remaining_h.why)


@pytest.mark.parametrize(
    "waits", [{}, {"decision": 1, "fix": 1}, {"decision": 1, "fix": None, "files": 1}]
)
def test_a_wait_that_nobody_stated_leaves_the_total_missing_with_the_known_part(waits):
    found = estimated(project(block(waits_h=waits)), *prepared())
    known = sum(value or 0 for value in waits.values())
    assert not found.remaining_h.known
    # 10 x 3600 s of run, 360 s of load and 20 s of no phase, and the waits that were stated
    assert found.remaining_h.part.value == pytest.approx(10 * 3980 / 3600 + known)
    assert "wait" in words(found.remaining_h.why)


def test_a_declared_wait_names_who_typed_it():
    path = "blocks.reference.waits_h.decision"
    plan = project(declared={path: Declaration(by="Ada", on=START.date())})
    figure = estimated(plan, *prepared()).remaining["wait"].inputs[0].figure
    assert (figure.state, figure.sources[0].by) == (State.DECLARED, "Ada")


def test_when_all_planned_runs_are_done_every_component_is_exactly_zero():
    done = prepared(role="campaign")
    plan = block(planned_runs=2, prepare=HERE["session"], waits_h={"decision": 4})
    found = estimated(project(plan), *done)
    values = {name: figure.value for name, figure in found.remaining.items() if name != "retry"}
    assert values == dict.fromkeys(values, 0.0)
    assert (found.remaining_h.low, found.remaining_h.value, found.remaining_h.high) == (0, 0, 0)
    assert found.contingency_h.value == 0.0


def test_as_many_runs_as_were_measured_take_as_long_as_the_attempts_did():
    items = prepared()
    plan = block(planned_runs=2, sessions=1, prepare=HERE["run"])
    found = estimated(project(plan), *items)
    assert found.remaining_h.value == pytest.approx(2 * 4700 / 3600)
    assert found.spent_h.value == pytest.approx(2 * 4700 / 3600)


@pytest.mark.parametrize(
    ("role", "count_trials", "left"),
    [("trial", False, 10), ("trial", True, 8), ("campaign", False, 8)],
)
def test_trials_count_towards_the_plan_only_where_it_says_so(role, count_trials, left):
    found = estimated(project(block(count_trials=count_trials)), *prepared(role=role))
    assert found.units.value == left


def test_sessions_and_preparation_of_the_campaign_are_not_planned_twice():
    # 3 sessions planned, 1 held: 2 loads of 0.1 h are left; the block was prepared once
    plan = block(sessions=3, load_per="session", prepare=HERE["block"])
    left = hours(plan, *prepared(role="campaign"))
    assert estimated(project(plan), *prepared(role="campaign")[:1]).remaining["prepare"].ranged
    assert left["load"] == pytest.approx(0.2)
    assert left["prepare"] == 0.0
    assert left["run"] == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("changes", "name", "says"),
    [
        ({"planned_runs": None}, "run", "say how many"),
        ({"sessions": None, "load_per": "session"}, "load", "sessions of reference: say how many"),
    ],
)
def test_a_number_that_nobody_planned_is_missing_and_asked_for(changes, name, says):
    assert says in words(estimated(project(block(**changes)), *prepared()).remaining[name].why)


def test_nothing_is_estimated_from_failures_alone():
    found = estimated(project(), *prepared(outcome="failed"))
    assert "every attempt of reference failed" in words(found.remaining["run"].why)
    assert not found.remaining_h.known


def test_a_phase_that_never_ended_gives_no_sample():
    cut = Phase(key="x", source=LINE, name="run", layer="api", duration_s=None, ended=False)
    item = attempt(phases=(phase("load", 360.0), cut))
    assert estimated(project(), item).remaining["run"].state is State.MISSING


def test_unlike_attempts_that_a_person_assigned_are_never_averaged():
    first, second = prepared()
    bigger = replace(second, intended=replace(second.intended, batch_size=4))
    plan = project(attempts={"a2": Assignment(block="reference", reason="close enough")})
    found = estimated(plan, first, bigger)
    assert "differ in batch size" in words(found.remaining["run"].why)


def test_the_same_number_written_differently_is_still_averaged():
    first, second = prepared()
    again = replace(second, intended=replace(second.intended, parameters={"ratio": "0.30"}))
    found = estimated(project(), first, again)
    assert found.remaining["run"].n == 2


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([("s1", 3600.0)], "measured once: a point, no range"),
        ([("s1", 3600.0), ("s2", 3600.0)], "n = 2 in k = 2 sessions: not decision-grade"),
        ([("s1", 3600.0)] * 3, "how much sessions differ is unknown"),
    ],
)
def test_few_units_or_sessions_are_called_not_decision_grade(values, says):
    assert says in words(estimated(project(), *runs(*values)).remaining["run"].why)


WHOLE = msgspec.structs.replace(phase("prepare", 600.0), layer="parent")


def alone(**changes):
    """An attempt that `probe phase prepare` made: 600 s of preparation and nothing else."""
    given = {"duration_s": 600.5, "phases": (WHOLE,), "started_at": at(0.5), **changes}
    return attempt("prepared", **given)


def test_preparation_alone_is_no_run_and_counts_as_preparation():
    plan = block(prepare=HERE["block"], count_trials=True)
    with_it, without = (
        estimated(project(plan), *items) for items in ((alone(), *runs(*STEADY)), runs(*STEADY))
    )
    assert with_it.units.value == without.units.value == 5  # 10 planned, 5 run
    assert with_it.spent["prepare"].value == pytest.approx(600 / 3600)
    for name in ("load", "run", "unattributed"):
        assert with_it.remaining[name] == without.remaining[name]
    assert with_it.remaining["prepare"].value == 0.0  # prepared once
    assert not without.remaining["prepare"].known


def test_preparation_alone_is_no_trial_of_its_block():
    found = estimated(project(block(prepare=HERE["session"])), alone())
    assert "needs its own trial" in words(found.remaining["run"].why)
    assert found.remaining["prepare"].value == pytest.approx(2 * 600 / 3600)  # 2 sessions
    assert found.run_s == ()


def test_without_the_hook_the_estimate_says_why_nothing_is_separated():
    item = attempt(phases=(), hook="not-loaded", hook_why="python was started with -I")
    found = estimated(project(block(prepare=HERE["session"])), item)
    assert words(found.remaining["run"].why) == (
        "not separated: the hook did not load (python was started with -I), "
        "so the time is unattributed"
    )
    assert "the hook did not load: python was started with -I" in map(words, found.notes)


def test_calls_of_a_group_of_ranks_are_units_once():
    plan = block(unit="call", planned_runs=100)
    calls = tuple(
        msgspec.structs.replace(call(seconds, index), rank=rank, key=f"{rank}-{index}")
        for rank in (0, 1)
        for index, seconds in enumerate((5.0, 6.0))
    )
    found = estimated(project(plan), attempt(calls=calls))
    assert found.run_s == ((5.0, 6.0),)
    assert any("2 ranks recorded calls" in words(note) for note in found.notes)
