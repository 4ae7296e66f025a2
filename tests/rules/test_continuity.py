"""Does the same work come back: long, busy, and somebody who can run a machine."""

from datetime import date

import pytest
from factory import CAMPAIGN, STEADY, block, condition, project, replace, runs, verdict, words

from budget.project import Durable, Recurrence
from budget.rules import continuity as rule

BUSY = Recurrence(runs_per_week=80)
"""80 runs of 1.1 h (run, load and the rest of a process) are 88 h a week, more than 80."""
YES = Durable(can_administer="yes")


def plan(recurs=BUSY, months=24.0, durable=YES, **changes):
    campaign = replace(CAMPAIGN, need_horizon_months=months)
    return project(block(recurs=recurs, **changes), campaign=campaign, durable=durable)


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (plan(), "pass"),
        (plan(months=12.0), "pass"),
        (plan(months=11.9), "fail"),
        (plan(recurs=Recurrence(runs_per_week=70)), "fail"),  # 70 x 1.106 h = 77 h
        (plan(recurs=Recurrence()), "unknown"),
        (plan(recurs=None), "unknown"),
        (plan(recurs=None, months=None), "unknown"),
        (plan(recurs=None, months=1.0), "fail"),
        (plan(months=None), "unknown"),
        (plan(durable=Durable()), "unknown"),
        (plan(durable=Durable(can_administer="no")), "fail"),
        (plan(planned_runs=None), "unknown"),
    ],
)
def test_continuity_passes_only_when_everything_is_known_and_enough(given, outcome):
    assert verdict(rule, given, *runs(*STEADY)).outcome == outcome


@pytest.mark.parametrize(
    ("until", "outcome"), [(date(2028, 6, 1), "pass"), (date(2027, 6, 1), "fail")]
)
def test_the_last_day_of_recurring_work_gives_the_horizon(until, outcome):
    recurs = Recurrence(runs_per_week=80, until=until)
    assert verdict(rule, plan(recurs=recurs, months=None), *runs(*STEADY)).outcome == outcome


def test_work_that_recurs_without_an_end_is_not_cut_to_the_end_of_other_work():
    short = block(
        "short", recurs=Recurrence(runs_per_week=1, until=date(2027, 3, 1)),
        condition=condition(batch_size=8),
    )  # fmt: skip
    given = plan(months=None)
    found = verdict(rule, replace(given, blocks=(*given.blocks, short)), *runs(*STEADY))
    assert found.outcome == "unknown"


def test_unmeasured_work_that_recurs_is_asked_for_by_name():
    found = verdict(rule, plan())
    assert "hours per week of reference are unknown" in words(found.because)


def test_a_part_of_a_run_that_is_missing_counts_as_unmeasured_and_not_as_no_time():
    # planned in calls, but the log counts none: load and the rest alone are not what a run takes
    found = verdict(rule, plan(unit="call"), *runs(*STEADY))
    assert found.outcome == "unknown"
    assert "hours per week of reference are unknown" in words(found.because)


def test_work_whose_phases_nobody_separated_still_counts():
    assert verdict(rule, plan(), *runs(*STEADY, phases=())).outcome == "pass"


def test_blocks_that_are_done_or_dropped_bring_no_continuous_need():
    assert verdict(rule, plan(state="dropped"), *runs(*STEADY)).outcome == "unknown"
