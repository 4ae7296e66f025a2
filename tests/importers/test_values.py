"""Single values: what is no usable value is missing and named, and nothing is filled in."""

from __future__ import annotations

import pytest

from tests.importers.written import (
    GIB,
    at,
    begin,
    finish,
    inside,
    opening,
    peak,
    read,
    whats,
)


@pytest.mark.parametrize(
    ("given", "read_as"),
    [(4, 4.0), (4.5, 4.5), (0, 0.0), ("550", 550.0), ("4.5e1", 45.0), (None, None)],
)
def test_a_clean_number_is_used_without_a_problem(given, read_as):
    log = read(opening(0), begin(1), finish(5, given))
    assert log.attempts[0].duration_s == read_as
    assert log.problems == ()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (-1, "duration_s is negative (-1)"),
        (-7199.5, "duration_s is negative (-7199.5)"),
        ("-3", "duration_s is negative (-3)"),
        (True, "duration_s should be a number and is true"),
        ("", "duration_s should be a number and is "),
        ("[N/A]", "duration_s should be a number and is [N/A]"),
        ("[Not Supported]", "duration_s should be a number and is [Not Supported]"),
        ("nan", "duration_s should be a number and is nan"),
        ("inf", "duration_s should be a number and is inf"),
        ("0,75", "duration_s should be a number and is 0,75"),
        ("16380\n5", "duration_s should be a number and is 16380\n5"),
        ("1_000", "duration_s should be a number and is 1_000"),
        ("٣", "duration_s should be a number and is ٣"),
        ("1e999", "duration_s is not a finite number"),
        ([4], "duration_s should be a number and is [4]"),
        ({"s": 4}, 'duration_s should be a number and is {"s": 4}'),
        (4e8, "duration_s is longer than ten years"),  # 4e8 / 31557600 = 12.7 years
    ],
)
def test_what_is_no_length_of_time_is_missing_and_named(given, what):
    log = read(opening(0), begin(1), finish(5, given))
    assert log.attempts[0].duration_s is None
    assert whats(log) == [f"f.jsonl:3 {what}"]
    assert log.attempts[0].outcome == "ok"


@pytest.mark.parametrize("given", [1.5, "2.5", -1, True, "many", 2**63, 10**30])
def test_what_is_no_count_is_missing_and_named(given):
    log = read(opening(0), begin(1), inside("call", 2, duration_s=1.0, input_tokens=given))
    assert log.fragments[0].calls[0].input_tokens is None
    assert log.fragments[0].calls[0].duration_s == 1.0
    assert [text.startswith("f.jsonl:3 input_tokens ") for text in whats(log)] == [True]


@pytest.mark.parametrize("given", [512, 512.0, "512"])
def test_a_whole_number_may_be_written_in_several_ways(given):
    log = read(opening(0), begin(1), inside("call", 2, input_tokens=given))
    assert log.fragments[0].calls[0].input_tokens == 512
    assert log.problems == ()


@pytest.mark.parametrize(
    "given", [2**63, 2**64 - 1, 4_294_967_295, -1, True, 1.5, "n/a", 80 * GIB + 1, 73 * 10**15]
)
@pytest.mark.parametrize(
    "key", ["tensor_peak_bytes", "allocator_peak_bytes", "device_peak_bytes", "baseline_bytes"]
)
def test_a_peak_that_the_card_cannot_hold_is_missing_and_named(key, given):
    log = read(opening(0), begin(1), finish(5, 4.0, memory=[peak(**{key: given})]))
    [memory] = log.attempts[0].memory
    assert getattr(memory, key) is None
    assert [text.startswith(f"f.jsonl:3 {key} ") for text in whats(log)] == [True]


@pytest.mark.parametrize(("given", "kept"), [(128 * GIB, True), (128 * GIB + 1, False)])
@pytest.mark.parametrize("device", ["host", 0])
def test_resident_memory_is_held_against_the_memory_of_the_host(given, kept, device):
    memory = [peak(device=device, resident_peak_bytes=given)]
    log = read(opening(0), begin(1), finish(5, 4.0, memory=memory))
    assert log.attempts[0].memory[0].resident_peak_bytes == (given if kept else None)
    assert len(log.problems) == (not kept)


def test_a_full_card_is_believed():
    log = read(opening(0), begin(1), finish(5, 4.0, memory=[peak(device_peak_bytes=80 * GIB)]))
    assert log.attempts[0].memory[0].device_peak_bytes == 80 * GIB
    assert log.problems == ()


def test_without_a_known_size_of_the_card_a_peak_cannot_be_doubted():
    card = {"index": 0, "name": "unified", "memory_bytes": None}
    log = read(opening(0, gpus=[card]), begin(1),
               finish(5, 4.0, memory=[peak(device_peak_bytes=900 * GIB)]))  # fmt: skip
    assert log.attempts[0].memory[0].device_peak_bytes == 900 * GIB
    assert log.problems == ()


@pytest.mark.parametrize(
    ("layer", "device"), [(None, 0), ("api", "host"), ("api", None), ("made up", 0)]
)
def test_what_a_card_held_is_not_believed_without_a_card_and_a_layer(layer, device):
    entry = peak(layer, device, device_peak_bytes=GIB, tensor_peak_bytes=GIB // 2)
    log = read(opening(0), begin(1), finish(5, 4.0, memory=[entry]))
    [memory] = log.attempts[0].memory
    assert memory.device_peak_bytes is None
    assert memory.tensor_peak_bytes == GIB // 2
    assert log.problems


@pytest.mark.parametrize("layer", ["api", "parent", "hook"])
def test_every_layer_that_measures_a_card_is_believed(layer):
    entry = peak(layer, 0, device_peak_bytes=GIB)
    log = read(opening(0), begin(1), finish(5, 4.0, memory=[entry]))
    assert log.attempts[0].memory[0].device_peak_bytes == GIB
    assert log.problems == ()


@pytest.mark.parametrize("given", [4_294_967_295, 2**64 - 1])
def test_a_card_whose_memory_the_driver_does_not_know_has_none(given):
    log = read(opening(0, gpus=[{"index": 0, "memory_bytes": given}]))
    assert log.sessions[0].host.gpus[0].memory_bytes is None
    assert len(log.problems) == 1


@pytest.mark.parametrize(
    "given",
    ["2027-01-11T08:00:00", "11.01.2027", "", 1799654400, "1970-01-01T00:00:07Z",
     "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", ["2027"]],
)  # fmt: skip
def test_a_time_that_may_mean_several_moments_or_none_is_missing_and_named(given):
    log = read(opening(0), begin(1, t=given), finish(5, 4.0))
    assert log.attempts[0].started_at is None
    assert log.attempts[0].duration_s == 4.0
    assert [text.startswith("f.jsonl:2 ") for text in whats(log)] == [True]


@pytest.mark.parametrize(
    "given", ["2027-01-11T08:00:01Z", "2027-01-11T10:00:01.000000+02:00", "2027-01-11 08:00:01Z"]
)
def test_a_time_with_a_zone_is_read_as_utc(given):
    assert read(opening(0), begin(1, t=given)).attempts[0].started_at == at(1)


@pytest.mark.parametrize("given", ["won", 1, True, ["ok"]])
def test_an_unknown_outcome_is_no_outcome(given):
    log = read(opening(0), begin(1), finish(5, 4.0, outcome=given))
    assert (log.attempts[0].outcome, log.attempts[0].duration_s) == (None, 4.0)
    assert len(log.problems) == 1


def test_a_number_where_a_text_belongs_becomes_its_digits():
    log = read(opening(0), begin(1, block=7, code={"commit": 1234567}))
    assert (log.attempts[0].block, log.attempts[0].code.commit) == ("7", "1234567")


def test_parameters_of_any_type_are_compared_as_texts():
    given = {"ratio": 0.3, "cache": True, "name": "x", "none": None, "list": [1, "é"]}
    log = read(opening(0), begin(1, condition={"parameters": given}))
    assert log.attempts[0].intended.parameters == {
        "ratio": "0.3", "cache": "true", "name": "x", "none": "null", "list": '[1, "é"]'
    }  # fmt: skip


@pytest.mark.parametrize(
    "lines",
    [
        (opening(0, host=[], gpus={}, driver=[], boot={}), begin(1)),
        (opening(0, gpus=[1, "x", None]), begin(1)),
        (opening(0), begin(1, code="abc", condition="m", argv=5, role=[], retry_of={})),
        (opening(0), begin(1, code={"dirty": "no"}, condition={"parameters": [1]})),
        (opening(0), begin(1), finish(5, 4.0, memory={"device": 0}, exit_code="x", signal=[])),
        (opening(0), begin(1), finish(5, 4.0, memory=[None, 3, [peak()]])),
        (opening(0), begin(1), inside("phase.start", 2, phase=None)),
        (opening(0), begin(1), inside("phase.end", 2, phase=["run"], duration_s={})),
        (opening(0), begin(1), inside("result", 2, name=None, value=1)),
        (opening(0), begin(1), inside("error", 2, kind=[], message={})),
        (opening(0), begin(1), inside("environment", 2, torch=[], arch_list="x", libraries=1)),
        (opening(0), begin(1, pid="x", mono_ns="y", t=None)),
    ],
)
def test_fields_of_the_wrong_kind_are_problems_and_nothing_else(lines):
    log = read(*lines)
    assert [attempt.id for attempt in log.attempts] == ["a1"]
    assert log.problems
