"""Does the platform fit: logs first, then declarations, then nothing."""

import pytest
from factory import (
    CPU_HOST,
    MAC,
    MAC_HOST,
    OOM,
    REFUSED,
    RENTED,
    attempt,
    block,
    condition,
    failure,
    project,
    replace,
    verdict,
    words,
)

from budget.project import Requirements
from budget.rules import cuda_compatibility as rule


def needs(accelerator, *blocks, **changes):
    return project(*blocks, requirements=Requirements(accelerator=accelerator), **changes)


def declared(answer, accelerator="cuda"):
    return needs(accelerator, environments=(replace(RENTED, cuda_compatible=answer),))


@pytest.mark.parametrize(
    ("plan", "attempts", "outcome"),
    [
        (needs("cuda"), [attempt()], "pass"),
        (needs("unknown"), [attempt()], "pass"),
        (needs("cuda"), [], "unknown"),
        (needs("unknown"), [], "unknown"),
        (needs("rocm"), [], "unknown"),
        (needs("any"), [], "pass"),
        (declared("yes"), [], "pass"),
        (declared("no"), [], "fail"),
        (needs("cuda"), [attempt(outcome="failed", failures=(REFUSED,))], "fail"),
        (needs("any"), [attempt(outcome="failed", failures=(REFUSED,))], "fail"),
        (needs("cuda"), [attempt(outcome="failed", failures=(OOM,))], "unknown"),
        (needs("cuda", block(environment=None)), [], "unknown"),
        (needs("cuda", block(environment="cpu")), [], "fail"),
    ],
)
def test_what_shows_that_the_platform_fits(plan, attempts, outcome):
    assert verdict(rule, plan, *attempts).outcome == outcome


@pytest.mark.parametrize("attempts", [[], [attempt(host=MAC_HOST)]])
def test_software_that_requires_cuda_never_passes_on_macos_and_macos_is_named(attempts):
    plan = needs("cuda", block(environment="mac", gpus=0))
    found = verdict(rule, plan, *attempts)
    assert (found.outcome, found.cause) == ("fail", "platform")
    assert "a Mac has none: macOS" in words(found.because)


def test_a_declaration_does_not_turn_macos_into_cuda():
    mac = replace(MAC, cuda_compatible="yes")
    plan = needs("cuda", block(environment="mac", gpus=0), environments=(mac,))
    assert verdict(rule, plan).outcome == "fail"


def test_a_host_without_a_gpu_is_refused_for_that_reason():
    found = verdict(rule, needs("cuda", block(environment="cpu")))
    assert "a CPU host has none: no GPU" in words(found.because)


def test_any_accelerator_passes_on_a_cpu_host_by_its_attempts():
    plan = needs("any", block(environment="cpu", gpus=0))
    found = verdict(rule, plan, attempt(host=CPU_HOST))
    assert "1 attempts of this condition succeeded" in words(found.because)


@pytest.mark.parametrize(
    ("answer", "item", "outcome"),
    [
        ("no", attempt(), "pass"),
        ("yes", attempt(outcome="failed", failures=(REFUSED,)), "fail"),
    ],
)
def test_a_log_that_refutes_a_declaration_wins_and_the_contradiction_is_shown(
    answer, item, outcome
):
    found = verdict(rule, declared(answer), item)
    assert found.outcome == outcome
    assert "the log wins" in words(found.contradiction)


def test_a_log_that_agrees_with_the_declaration_contradicts_nothing():
    assert verdict(rule, declared("yes"), attempt()).contradiction is None


def test_the_error_that_shows_the_refusal_is_quoted_and_not_the_first_one():
    item = attempt(outcome="failed", failures=(failure("a warning first"), REFUSED))
    assert "no kernel image" in words(verdict(rule, needs("cuda"), item).because)


def test_the_same_code_that_ran_for_another_block_there_shows_that_the_platform_fits():
    longer = block("longer", condition=condition(input_tokens=9000))
    found = verdict(rule, needs("cuda", longer, block()), attempt())
    assert found.outcome == "pass"
    assert "attempt a1 of another block" in words(found.because)


def test_other_code_that_ran_there_does_not():
    other = block("other", condition=condition(code="fedcba987654"))
    assert verdict(rule, needs("cuda", other, block()), attempt()).outcome == "unknown"


def test_undetermined_done_and_dropped_blocks_do_not_vote():
    plan = needs(
        "cuda", block("a", status="undetermined"), block("b", state="done"),
        block("c", state="dropped"), block("d"),
    )  # fmt: skip
    from factory import facts

    assert [item.block for item in rule.judge(facts(plan))] == ["d"]
