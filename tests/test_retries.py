"""What failures say of the runs to come, and which say nothing."""

import msgspec
import pytest
from factory import (
    at,
    attempt,
    block,
    call,
    change,
    estimated,
    phase,
    project,
    session,
    wait,
    words,
)

from budget.figures import State

GOOD = tuple(attempt(f"ok{i}", started_at=at(i)) for i in (2, 3, 4))


def failed(**changes):
    """A failure during run after half an hour."""
    given = {"outcome": "failed", "started_at": at(1), "duration_s": 1800.0, **changes}
    return attempt("bad", **given)


def of(*attempts, plan=None, **changes):
    held = session(hours=9, **changes)
    return estimated(project(plan or block()), *attempts, sessions=(held,))


def test_a_failure_before_run_is_counted_once_as_preparation_and_never_projected():
    early = failed(phases=(phase("load", 360.0),))
    found = of(early, *GOOD)
    assert found.spent["prepare"].value == pytest.approx(0.5)
    assert found.spent["retry"].value == 0.0
    assert found.remaining_h.value == of(*GOOD).remaining_h.value
    assert found.contingency_h.state is State.MISSING


def test_a_failure_during_run_is_a_retry_and_a_contingency_outside_the_totals():
    # 10 runs x 0.5 h x (1/4)/(3/4) = 1.6667 h
    found = of(failed(), *GOOD)
    assert found.spent["retry"].value == pytest.approx(0.5)
    assert found.contingency_h.value == pytest.approx(10 * 0.5 / 3)
    assert found.remaining_h.value == of(*GOOD).remaining_h.value
    assert (found.contingency_h.low, found.contingency_h.high) == (None, None)


@pytest.mark.parametrize(
    ("what", "removed"),
    [
        ({"changes": (change(1.5),)}, True),
        ({"waits": (wait("fix", 0.2, 1.5),)}, True),
        ({"waits": (wait("decision", 0.2, 1.5),)}, False),
        ({"changes": (change(0.5),)}, False),  # before the failure
        ({"changes": (change(4.5),)}, False),  # after the last success
        ({}, False),
    ],
)
def test_a_failure_whose_cause_was_removed_is_no_retry_rate(what, removed):
    found = of(failed(), *GOOD, **what)
    assert (found.contingency_h.state is State.MISSING) is removed
    assert found.spent["retry"].value == pytest.approx(0.5)  # it was paid for all the same


def test_none_of_three_failed_still_allows_63_percent_and_costs_nothing_known():
    found = of(*GOOD)
    assert found.contingency_h.value is None
    share = found.contingency_h.why.values["share"].value
    assert (found.contingency_h.why.values["n"], round(share, 2)) == (3, 0.63)


def test_calls_are_counted_against_failures_where_a_call_is_the_unit():
    # 1 failure of 0.5 h beside 3 x 20 good calls: 600 calls / 60 x 0.5 h = 5 h
    calls = tuple(call(10.0, index) for index in range(20))
    good = tuple(attempt(f"ok{i}", started_at=at(i), calls=calls) for i in (2, 3, 4))
    found = of(failed(), *good, plan=block(unit="call", planned_runs=600))
    assert found.contingency_h.value == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (block(planned_runs=None), "planned runs of reference: say how many"),
        (block(), "no successful attempt"),
    ],
)
def test_without_a_plan_or_a_success_there_is_no_contingency(plan, says):
    attempts = (failed(), *GOOD) if plan.planned_runs is None else (failed(),)
    assert says in words(of(*attempts, plan=plan).contingency_h.why)


def test_what_the_hook_saw_change_inside_a_run_removed_no_cause():
    seen = msgspec.structs.replace(change(1.5), layer="hook")
    assert of(failed(), *GOOD, changes=(seen,)).contingency_h.known
    assert not of(failed(), *GOOD, changes=(change(1.5),)).contingency_h.known


def test_a_run_that_its_time_limit_ended_is_a_failure_like_others():
    assert of(failed(timed_out=True, signal="SIGTERM"), *GOOD).contingency_h.known
