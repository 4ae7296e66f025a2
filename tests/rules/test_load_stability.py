"""Is the amount of work settled: it fails on positive evidence only."""

import pytest
from factory import (
    STEADY,
    at,
    attempt,
    block,
    change,
    condition,
    project,
    runs,
    session,
    verdict,
    words,
)

from budget.rules import load_stability as rule

DRIFTING = (("s1", 100.0), ("s1", 101.0), ("s2", 120.0), ("s3", 140.0), ("s3", 141.0))
"""From 100.5 to 140.5 on average: 39.8 % more."""


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        (STEADY, "pass"),
        (STEADY[:2], "unknown"),  # two units, one session
        (STEADY[:1] * 3, "unknown"),  # one session
        ((), "unknown"),
        (DRIFTING, "fail"),
        ((("s1", 100.0), ("s1", 130.0), ("s2", 100.0)), "fail"),  # sd 17.3 of 110: 15.7 %
        ((("s1", 100.0), ("s2", 200.0)), "unknown"),  # two values show nothing
        ((("s1", 0.0), ("s1", 0.0), ("s2", 0.0)), "unknown"),
    ],
)
def test_spread_and_drift_of_run_time(values, outcome):
    assert verdict(rule, project(), *runs(*values)).outcome == outcome


def test_a_drift_of_forty_percent_is_named_with_its_limit():
    because = words(verdict(rule, project(), *runs(*DRIFTING)).because)
    assert "from the first to the last session, more than 0.25 share" in because


def test_most_of_the_plan_being_open_is_not_a_settled_load():
    # 2 of 3 blocks are 67 %, more than 50 %; 1 of 2 is not. What nobody decided is evidence that
    # the work is open; what nobody measured yet only keeps from telling.
    far = block("far", condition=condition(batch_size=8))
    open_ones = [
        block(name, status="undetermined", condition=condition(batch_size=9)) for name in "xy"
    ]
    results = [
        verdict(rule, project(block(), *others), *runs(*STEADY)).outcome
        for others in (open_ones, (far, open_ones[0]), (far,))
    ]
    assert results == ["fail", "unknown", "pass"]


def test_dropped_and_done_blocks_are_no_open_part_of_the_plan():
    others = [
        block(name, state=state, condition=condition(batch_size=8))
        for name, state in (("x", "dropped"), ("y", "done"))
    ]
    assert verdict(rule, project(block(), *others), *runs(*STEADY)).outcome == "pass"


def failures(count, **changes):
    return tuple(
        attempt(f"f{i}", outcome="failed", started_at=at(0.1 * i), **changes)
        for i in range(1, count + 1)
    )


@pytest.mark.parametrize(
    ("bad", "sessions", "outcome"),
    [
        (failures(1), (), "pass"),  # 5 of 6 = 83 %
        (failures(2), (), "fail"),  # 5 of 7 = 71 %
        (failures(2, phases=()), (), "pass"),  # before the run phase: debugging
        (failures(2), (change(0.5),), "pass"),  # the cause was removed
    ],
)
def test_the_success_rate_counts_failures_during_run_under_one_condition(bad, sessions, outcome):
    held = tuple(
        session(name, 9.0, 30.0 * i, changes=sessions if i == 0 else ())
        for i, name in enumerate(("s1", "s2", "s3"))
    )
    assert verdict(rule, project(), *bad, *runs(*STEADY), sessions=held).outcome == outcome
