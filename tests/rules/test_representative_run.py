"""Has a run of the block's own condition succeeded, and does it fit the machine."""

import pytest
from factory import (
    GIB,
    MAC_HOST,
    OOM,
    RENTED,
    attempt,
    block,
    failure,
    phase,
    project,
    replace,
    verdict,
    words,
)

from budget.rules import representative_run as rule

BEFORE_RUN = (phase("load", 5.0),)


def bad(name="bad", error=OOM, **changes):
    return attempt(name, outcome="failed", failures=(error,), **changes)


@pytest.mark.parametrize(
    ("attempts", "outcome", "cause"),
    [
        ([attempt()], "pass", None),
        ([bad(), attempt()], "pass", None),
        ([], "unknown", None),
        ([attempt(intended=replace(attempt().intended, batch_size=9))], "unknown", None),
        ([attempt(memory=())], "unknown", None),
        ([bad()], "fail", "memory"),
        ([bad(phases=BEFORE_RUN)], "fail", "memory"),
        ([bad("b1", failure("typo"), phases=BEFORE_RUN), bad()], "fail", "memory"),
        ([bad("b1", failure("typo")), bad()], "fail", None),
        ([bad(error=failure("typo"))], "fail", None),
        # 80 GiB; the margin is the larger of 5 % = 4 GiB and 1 GiB
        ([attempt(peak_bytes=76 * GIB)], "pass", None),
        ([attempt(peak_bytes=76 * GIB + 1)], "fail", "memory"),
    ],
)
def test_what_makes_a_run_representative(attempts, outcome, cause):
    found = verdict(rule, project(), *attempts)
    assert (found.outcome, found.cause) == (outcome, cause)


def test_a_small_device_keeps_one_gibibyte_free():
    # 5 % of 8 GiB is 0.4 GiB; 1 GiB is kept, so 7 GiB fit and one byte more does not
    small = replace(RENTED, gpu_memory_bytes=8 * GIB)
    host = replace(attempt().host, gpus=(replace(attempt().host.gpus[0], memory_bytes=8 * GIB),))
    results = [
        verdict(rule, project(environments=(small,)), attempt(host=host, peak_bytes=peak)).outcome
        for peak in (7 * GIB, 7 * GIB + 1)
    ]
    assert results == ["pass", "fail"]


def test_what_does_not_fit_asks_for_more_memory_or_a_narrower_scope():
    found = verdict(rule, project(), bad())
    assert "more memory" in words(found.do_next)
    assert "narrower scope" in words(found.do_next)
    assert found.sources


def test_a_mac_states_its_peak_of_unified_memory():
    plan = project(block(environment="mac", gpus=0))
    found = verdict(rule, plan, attempt(host=MAC_HOST))
    assert found.outcome == "pass"
    assert "of unified memory" in words(found.because)
    assert found.figures[0].figure.value == 8 * GIB


def test_an_attempt_that_is_near_is_named_with_what_differs():
    item = attempt(intended=replace(attempt().intended, batch_size=9))
    found = verdict(rule, project(), item)
    assert "it differs from reference in batch size: planned 1, measured 9" in words(found.because)


def test_a_machine_whose_memory_nobody_described_cannot_be_judged():
    from budget.project import Assignment

    plan = project(
        environments=(replace(RENTED, gpu_memory_bytes=None),),
        attempts={"a1": Assignment(block="reference", reason="same card")},
    )
    found = verdict(rule, plan, attempt())
    assert (found.outcome, "not described" in words(found.because)) == ("unknown", True)
