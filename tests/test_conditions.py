"""Which attempt speaks for which block: field by field, and why not."""

import pytest
from factory import (
    CPU,
    CPU_HOST,
    GIB,
    GPU_HOST,
    H100,
    MAC,
    RENTED,
    SOFTWARE,
    assess,
    attempt,
    block,
    call,
    condition,
    project,
    replace,
    words,
)

from budget.agreement import same_code, same_machine, same_text
from budget.attempts import Code, Host
from budget.conditions import disagreement, match, version_text
from budget.project import Assignment, Policy

POLICY = Policy()


def outcome(item, plan=None, environment=RENTED):
    return match(plan or block(), environment, item, POLICY)


def fields(found):
    return [(item.field, item.unstated) for item in found.differences]


def intended(**changes):
    item = attempt()
    return replace(item, intended=replace(item.intended, **changes))


def on(**changes):
    return attempt(host=replace(GPU_HOST, gpus=(replace(H100, **changes),)))


def with_(**changes):
    return attempt(software=replace(SOFTWARE, **changes))


def test_an_attempt_of_the_planned_condition_matches():
    assert outcome(attempt()).outcome == "match"


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (attempt(code=Code(commit="fedcba987654", dirty=False)), "code version"),
        (attempt(code=Code(commit="0123456789ab", dirty=True, diff_hash="d" * 12)), "code version"),
        (intended(model="other"), "model"),
        (intended(input_tokens=999), "input tokens"),
        (intended(output_tokens=101), "output tokens"),
        (intended(batch_size=2), "batch size"),
        (intended(parameters={"ratio": "0.31"}), "ratio"),
        (attempt(host=replace(GPU_HOST, gpus=(H100, H100))), "number of GPUs"),
        (on(name="NVIDIA A100-SXM4-80GB"), "GPU"),
        (on(memory_bytes=60 * GIB), "memory in bytes"),
        (with_(torch="2.12.0"), "torch"),
        (with_(cuda="12.4"), "CUDA"),
        (with_(cuda=None), "CUDA"),
    ],
)
def test_each_field_alone_makes_another_condition(item, field):
    found = outcome(item)
    assert (found.outcome, fields(found)) == ("differs", [(field, None)])


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (attempt(code=Code()), "code version"),
        (attempt(code=Code(commit="0123456789ab", dirty=True)), "code version"),
        (intended(model=None), "model"),
        (intended(input_tokens=None), "input tokens"),
        (intended(output_tokens=None), "output tokens"),
        (intended(batch_size=None), "batch size"),
        (intended(parameters={}), "ratio"),
        (on(name=None), "GPU"),
        (on(memory_bytes=None), "memory in bytes"),
    ],
)
def test_a_field_that_the_log_does_not_state_makes_it_impossible_to_tell(item, field):
    found = outcome(item)
    assert (found.outcome, fields(found)) == ("unknown", [(field, "attempt")])


@pytest.mark.parametrize(
    ("plan", "environment", "field"),
    [
        (block(condition=condition(code=None)), RENTED, "code version"),
        (block(condition=condition(model=None)), RENTED, "model"),
        (block(condition=condition(input_tokens=None)), RENTED, "input tokens"),
        (block(condition=condition(parameters={})), RENTED, "ratio"),
        (block(), replace(RENTED, gpu=None), "GPU"),
        (block(), replace(RENTED, gpu_count=None), "number of GPUs"),
        (block(), replace(RENTED, gpu_memory_bytes=None), "memory in bytes"),
        (block(), replace(RENTED, torch=None), "torch"),
        (block(), replace(RENTED, cuda=None), "CUDA"),
    ],
)
def test_a_field_that_the_plan_does_not_state_makes_it_impossible_to_tell(plan, environment, field):
    found = outcome(attempt(), plan, environment)
    assert (found.outcome, fields(found)) == ("unknown", [(field, "block")])


def test_what_neither_side_states_is_no_match_and_reads_so():
    found = outcome(intended(model=None), block(condition=condition(model=None)))
    assert found.outcome == "unknown"
    assert words(found.differences[0].text) == "model: neither the plan nor the log says"


def test_silence_of_both_sides_on_torch_is_no_obstacle_but_silence_of_one_is():
    """Code that uses no torch cannot state one; a plan that states one wants to see it."""
    bare = attempt(software=None)
    assert outcome(bare, environment=replace(RENTED, torch=None, cuda=None)).outcome == "match"
    assert outcome(bare, environment=RENTED).outcome == "unknown"
    assert outcome(attempt(), environment=replace(RENTED, torch=None)).outcome == "unknown"


def test_a_partition_that_only_one_side_states_cannot_be_told_to_agree():
    part = on(mig_profile="1g.10gb")
    assert outcome(part, environment=RENTED).outcome == "unknown"
    assert outcome(part, environment=replace(RENTED, mig_profile="2g.20gb")).outcome == "differs"


def test_a_library_of_the_method_must_agree_and_others_need_not():
    plan = replace(RENTED, libraries={"flash-attn": "2.6"})
    results = [
        outcome(with_(libraries=libraries), environment=plan).outcome
        for libraries in ({"flash-attn": "2.6.3", "numpy": "2.1"}, {"flash-attn": "2.7"}, {})
    ]
    assert results == ["match", "differs", "unknown"]


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ("0123456", "0123456789ab", True),
        ("0123456", "123456", False),  # a version is no number
        ("123456", "123456789abc", False),  # fewer than seven digits name no version
        ("0123456", "0123456+abcdef123456", False),  # dirty against clean
        ("0123456+abcdef1", "0123456789ab+abcdef123456", True),
        ("0123456+abcdef1", "0123456789ab+fedcba123456", False),
        ("0123456+a", "0123456789ab+abcdef123456", False),
        ("v1.2", "v1.2", True),
    ],
)
def test_versions_of_the_code(wanted, found, same):
    assert same_code(wanted, found) is same


def test_a_dirty_tree_agrees_only_with_the_same_difference():
    item = attempt(code=Code(commit="0123456789abcdef", dirty=True, diff_hash="abcdef1234567890"))
    assert version_text(item) == "0123456789ab+abcdef123456"
    same = block(condition=condition(code="0123456789ab+abcdef123456"))
    other = block(condition=condition(code="0123456789ab+abcdef000000"))
    results = [outcome(item, plan).outcome for plan in (same, other, block())]
    assert results == ["match", "differs", "differs"]


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ("0.30", "0.3", True),
        ("1e-3", "0.001", True),
        (".5", "0.50", True),
        ("+1", "1.", True),
        ("0123456", "123456", False),
        ("nan", "nan", True),
        ("true", "True", False),
        ("", "0", False),
        ("1_0", "10", False),
    ],
)
def test_numbers_as_text_compare_as_numbers_and_names_as_names(wanted, found, same):
    assert same_text(wanted, found) is same


@pytest.mark.parametrize(
    ("size", "planned", "expected"),
    [
        (1050, 1000, "match"),  # exactly 5 %
        (1051, 1000, "differs"),
        (949, 1000, "differs"),
        (0, 0, "match"),
        (1, 0, "differs"),
    ],
)
def test_sizes_really_processed_beyond_five_percent_are_another_condition(size, planned, expected):
    item = intended(input_tokens=planned)
    item = replace(item, calls=(call(1.0, input_tokens=planned), call(1.0, 1, input_tokens=size)))
    found = outcome(item, block(condition=condition(input_tokens=planned)))
    assert found.outcome == expected
    assert all("really processed" in words(item.text) for item in found.differences)


def test_hosts_without_a_gpu_are_not_asked_for_gpu_cuda_or_mig():
    item = attempt(host=CPU_HOST)
    found = outcome(item, block(environment="cpu", gpus=0), CPU)
    assert (found.outcome, found.differences) == ("match", ())


def test_a_host_that_could_not_list_its_gpus_does_not_say_how_many_it_has():
    item = attempt(host=Host(ram_bytes=32 * GIB))
    assert fields(outcome(item, block(), CPU)) == [("number of GPUs", "attempt")]


@pytest.mark.parametrize(
    ("environment", "host", "same"),
    [
        (RENTED, GPU_HOST, True),
        (replace(RENTED, gpu_memory_bytes=79 * GIB), GPU_HOST, True),  # 1.25 % less
        (replace(RENTED, mig_profile="1g.10gb"), GPU_HOST, False),
        (replace(RENTED, gpu_count=8), GPU_HOST, False),
        (CPU, CPU_HOST, True),
        (replace(CPU, ram_bytes=int(32 * GIB * 0.99)), CPU_HOST, True),
        (MAC, CPU_HOST, False),
    ],
)
def test_a_probed_host_is_a_machine_of_the_plan_by_gpus_partition_and_memory(
    environment, host, same
):
    assert same_machine(environment, host) is same


def service(plan, item):
    return assess(plan, item).services[0]


def test_the_label_breaks_a_tie_and_never_wins_against_the_condition():
    twins = project(block(), block("comparison"))
    other = project(block(), block("comparison", condition=condition(batch_size=8)))
    found = [
        service(twins, attempt(block="comparison")).block,
        service(other, attempt(block="comparison")).block,
        service(twins, attempt(block=None)).block,
    ]
    assert found == ["comparison", "reference", None]


def test_a_tie_that_no_label_breaks_asks_a_person():
    found = service(project(block(), block("comparison")), attempt(block="elsewhere"))
    assert words(found.why) == "its condition is that of reference, comparison: assign it to one"


def test_a_dropped_block_takes_no_attempt_from_one_that_is_planned():
    plan = project(block("old", state="dropped"), block("new"))
    assert service(plan, attempt(block="old")).block == "new"


def test_the_nearest_block_and_its_differences_are_named():
    far = block("far", condition=condition(batch_size=8, model="x"))
    near = block("near", condition=condition(batch_size=4))
    found = service(project(far, near), attempt(block=None))
    assert (found.block, found.by, found.nearest) == (None, "nobody", "near")
    assert words(found.why) == "it differs from near in batch size: planned 4, measured 1"


def test_the_block_that_the_label_names_is_compared_even_when_another_is_nearer():
    far = block("far", condition=condition(batch_size=8, model="x"))
    near = block("near", condition=condition(batch_size=4))
    assert service(project(far, near), attempt(block="far")).nearest == "far"


def test_a_silent_log_says_which_fields_it_lacks():
    found = service(project(), intended(model=None))
    assert words(found.why) == (
        "cannot tell whether it serves reference: model: the log does not say (planned m)"
    )


@pytest.mark.parametrize("target", ["other", None])
def test_a_persons_word_wins_and_its_reason_is_kept(target):
    plan = project(
        block(), block("other", condition=condition(batch_size=8)),
        attempts={"a1": Assignment(block=target, reason="warm-up by mistake")},
    )  # fmt: skip
    found = service(plan, attempt())
    assert (found.block, found.by, words(found.why)) == (target, "person", "warm-up by mistake")


def test_without_blocks_an_attempt_serves_nothing_yet():
    found = service(replace(project(), blocks=()), attempt())
    assert words(found.why) == "the plan has no blocks yet"


@pytest.mark.parametrize(
    ("other", "field"),
    [
        (attempt("a2"), None),
        (intended(parameters={"ratio": "0.30"}), None),
        (attempt("a2", code=Code(commit="fedcba987654", dirty=False)), "code version"),
        (attempt("a2", code=Code()), None),  # outside git: left to the person who assigned it
        (intended(model=None), None),
        (intended(batch_size=2), "batch size"),
        (intended(parameters={"ratio": "0.4"}), "ratio"),
        (on(name="NVIDIA A100-SXM4-80GB"), "GPU"),
    ],
)  # fmt: skip
def test_attempts_that_a_person_assigned_may_still_be_too_unlike_for_a_mean(other, field):
    assert disagreement([attempt(), other]) == field


def test_what_the_first_attempt_does_not_state_is_still_compared_among_the_others():
    items = [intended(batch_size=None), attempt("a2"), intended(batch_size=2)]
    assert disagreement(items) == "batch size"
