"""Does the software start: what a log shows outranks what a form says."""

import pytest
from factory import OOM, REFUSED, attempt, block, condition, failure, phase, project, verdict, words

from budget.project import Dataset, Model, Repository, Scope
from budget.rules import software_starts as rule

DEAD = {"outcome": "failed", "phases": (phase("load", 5.0),), "exit_code": 1}


def scope(**changes):
    return project(scope=Scope(**changes))


def test_an_attempt_that_reached_its_run_phase_passes_though_it_failed_there():
    assert verdict(rule, project(), attempt(outcome="failed")).outcome == "pass"


def test_an_attempt_that_succeeded_started_though_it_marked_no_run_phase():
    plan = scope(repository=Repository(starts="no"))
    assert verdict(rule, plan, attempt(phases=(phase("load", 5.0),))).outcome == "pass"


def test_attempts_that_never_reached_run_fail_and_quote_the_last_error():
    found = verdict(rule, project(), attempt(failures=(failure("no module named x"),), **DEAD))
    assert found.outcome == "fail"
    assert "no module named x" in words(found.because)
    assert found.sources


def test_without_a_message_the_exit_code_is_quoted():
    assert "exit code 1" in words(verdict(rule, project(), attempt(**DEAD)).because)


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({}, "unknown"),
        ({"repository": Repository(starts="yes")}, "pass"),
        ({"repository": Repository(starts="no")}, "fail"),
        ({"repository": Repository(state="missing", starts="yes")}, "fail"),
        ({"models": (Model(id="m", weights="missing"),)}, "fail"),
        ({"models": (Model(id="m", weights="unknown"),)}, "unknown"),
        ({"datasets": (Dataset(id="d", state="missing"),)}, "fail"),
    ],
)
def test_without_an_attempt_the_declaration_counts(given, outcome):
    assert verdict(rule, scope(**given)).outcome == outcome


@pytest.mark.parametrize("error", [OOM, REFUSED])
def test_memory_or_platform_do_not_say_that_the_software_is_broken(error):
    found = verdict(rule, project(), attempt(failures=(error,), **DEAD))
    assert found.outcome == "unknown"


def test_an_attempt_that_somebody_interrupted_says_nothing():
    item = attempt(**{**DEAD, "outcome": "interrupted"})
    assert verdict(rule, project(), item).outcome == "unknown"


def test_weights_declared_missing_yet_a_run_is_a_contradiction_that_the_log_wins():
    plan = scope(models=(Model(id="m", weights="missing"),))
    found = verdict(rule, plan, attempt())
    assert found.outcome == "pass"
    assert words(found.contradiction) == (
        "declared: the weights of m are missing; yet attempt a1 ran: the log wins"
    )


def test_a_run_of_one_model_does_not_refute_that_anothers_weights_are_missing():
    models = (Model(id="m", weights="available"), Model(id="big", weights="missing"))
    found = verdict(rule, scope(models=models), attempt())
    assert (found.outcome, found.contradiction) == ("pass", None)
    assert "still declared: the weights of big are missing" in words(found.because)


def test_a_declaration_that_it_starts_is_refuted_by_attempts_that_do_not():
    found = verdict(rule, scope(repository=Repository(starts="yes")), attempt(**DEAD))
    assert (found.outcome, found.contradiction is None) == ("fail", False)


def test_undetermined_blocks_do_not_matter_for_the_project():
    plan = project(block(status="undetermined", condition=condition()))
    assert verdict(rule, plan).block is None
