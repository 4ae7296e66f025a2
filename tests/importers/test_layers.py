"""What parent, hook and watch add to a log: samples, checks, causes, cards, an absent hook."""

from __future__ import annotations

import pytest

from budget.attempts import Instance, Repeat, Spread
from budget.joining import combine
from tests.importers.written import (
    CARD,
    GIB,
    at,
    begin,
    finish,
    inside,
    line,
    opening,
    peak,
    read,
    whats,
)


def spread(low, mean, high, count=4):
    return {"min": low, "mean": mean, "max": high, "count": count}


def test_what_was_asked_of_a_run_is_read():
    [attempt] = read(opening(0), begin(
        1, block=None, expected={"accuracy": "71.2"}, variables={"CUDA_VISIBLE_DEVICES": "0"},
        repeat={"number": 2, "of": 5}, retry_of="a0",
    )).attempts  # fmt: skip
    assert attempt.block is None
    assert attempt.expected == {"accuracy": "71.2"}
    assert attempt.variables == {"CUDA_VISIBLE_DEVICES": "0"}
    assert (attempt.repeat, attempt.retry_of) == (Repeat(number=2, of=5), "a0")


def test_an_older_log_says_nothing_of_hook_and_cards():
    [attempt] = read(opening(0), begin(1), finish(5, 4.0)).attempts
    assert (attempt.hook, attempt.hook_why, attempt.devices_read_by) == (None, None, None)
    assert (attempt.timed_out, attempt.repeat, attempt.expected) == (False, None, {})


def test_a_hook_that_did_not_load_says_why():
    [attempt] = read(opening(0), begin(1), finish(
        5, 4.0, hook="not-loaded", hook_why="python was started with -I",
        devices_read_by=None, devices_why="the driver's library was not found",
    )).attempts  # fmt: skip
    assert (attempt.hook, attempt.hook_why) == ("not-loaded", "python was started with -I")
    assert attempt.devices_why == "the driver's library was not found"
    assert attempt.phase_s("run") is None


@pytest.mark.parametrize("outcome", ["failed", "interrupted", "ok"])
def test_what_its_time_limit_ended_has_failed(outcome):
    end = finish(5, 4.0, outcome=outcome, signal="SIGTERM", exit_code=None, timed_out=True)
    [attempt] = read(opening(0), begin(1), end).attempts
    assert (attempt.outcome, attempt.timed_out) == ("failed", True)


def test_a_window_of_samples_is_read_with_who_wrote_it():
    log = read(
        opening(0, 30, "watch"),
        line("sample", 60, 30, window_s=60.0, device="0:1", memory_used_bytes=spread(1, 2, 3),
             utilisation_percent=spread(0, 0, 0), power_w=spread(60.5, 61, 62)),
        opening(61), begin(62),
        line("sample", 92, attempt="a1", window_s=30.0, device=0, resident_bytes=spread(1, 2, 3)),
        line("sample", 92, attempt="a1", window_s=30.0, device="host",
             resident_bytes=spread(1, 2, 3)),
    )  # fmt: skip
    assert log.problems == ()
    watched, card, host = log.sessions[0].samples
    assert (watched.layer, watched.device, watched.at, watched.window_s, watched.attempt) == (
        "watch", "0:1", at(60), 60.0, None)  # fmt: skip
    assert watched.memory_bytes == Spread(low=1, mean=2, high=3, count=4)
    assert watched.utilisation_percent == Spread(low=0, mean=0, high=0, count=4)
    assert watched.power_w == Spread(low=60.5, mean=61, high=62, count=4)
    assert (card.device, card.memory_bytes, card.attempt) == ("0", None, "a1")
    assert host.memory_bytes == Spread(low=1, mean=2, high=3, count=4)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"utilisation_percent": spread(0, 50, 101)}, "utilisation_percent is 101, more"),
        ({"memory_used_bytes": spread(0, 1, 2**64 - 1)}, "memory_used_bytes is 184467440737095"),
        ({"memory_used_bytes": spread(-1, 1, 2)}, "min is negative"),
    ],
)  # fmt: skip
def test_samples_that_no_card_can_have_are_missing_and_named(more, what):
    log = read(opening(0), line("sample", 60, window_s=60.0, device=0, **more))
    [sample] = log.sessions[0].samples
    assert (sample.memory_bytes, sample.utilisation_percent) == (None, None)
    assert [what in text for text in whats(log)] == [True]


@pytest.mark.parametrize("stated", [{"device": 0}, {"window_s": 5.0}])
def test_a_window_without_a_device_or_a_length_is_no_window(stated):
    log = read(opening(0), line("sample", 60, **stated))
    assert log.sessions[0].samples == ()
    assert len(log.problems) == 1


def test_samples_in_two_files_count_once():
    lines = (opening(0), begin(1), line("sample", 60, window_s=60.0, device=0))
    [session] = combine([read(*lines), read(*lines)]).sessions
    assert len(session.samples) == 1


def test_the_answers_of_the_check_are_kept_with_what_was_said():
    log = read(opening(0), line("check", 1, name="driver", passed=True, said="550.54"),
               line("check", 2, name="kernel", passed=False, said="no kernel image"),
               line("check", 3, name="bf16", passed=None, said="not asked"))  # fmt: skip
    assert [(c.name, c.passed, c.said) for c in log.sessions[0].checks] == [
        ("driver", True, "550.54"), ("kernel", False, "no kernel image"),
        ("bf16", None, "not asked"),
    ]  # fmt: skip
    assert log.problems == ()


def test_an_error_carries_its_cause_and_the_line_that_decides_it():
    log = read(opening(0), begin(1), inside(
        "error", 2, phase="run", layer="hook", kind="OutOfMemoryError", rank=3,
        cause="gpu-out-of-memory", line="CUDA out of memory. Tried to allocate 20.00 GiB",
        signature="s", message="m"))  # fmt: skip
    [failure] = log.fragments[0].failures
    assert (failure.cause, failure.line) == (
        "gpu-out-of-memory", "CUDA out of memory. Tried to allocate 20.00 GiB")  # fmt: skip
    assert (failure.layer, failure.rank, failure.phase) == ("hook", 3, "run")


def test_a_change_that_the_hook_saw_is_told_from_what_a_person_said():
    log = read(opening(0), begin(1), line("change", 2, kind="code", what="x", reason="y"),
               inside("change", 3, layer="hook", kind="parameter", what="batch_size",
                      **{"from": "8", "to": "4"}))  # fmt: skip
    assert [(c.layer, c.attempt, c.what) for c in log.sessions[0].changes] == [
        (None, None, "x"), ("hook", "a1", "batch_size")]  # fmt: skip


def test_what_the_driver_tells_of_a_card_is_read():
    part = {"index": "0:1", "uuid": "MIG-1", "profile": "1g.10gb", "memory_bytes": 10 * GIB}
    card = {**CARD, "unified": False, "ecc": True, "persistence": False, "mig": True,
            "mig_devices": [part]}  # fmt: skip
    peaks = [peak("parent", "0:1", device_peak_bytes=size * GIB) for size in (9, 11)]
    start = opening(0, gpus=[card], gpus_read_by="nvml", driver_cuda="12.4", nvcc=None)
    log = read(start, begin(1), finish(5, 4.0, memory=peaks))
    host = log.sessions[0].host
    [gpu] = host.gpus
    assert (gpu.ecc, gpu.persistence, gpu.mig, gpu.unified) == (True, False, True, False)
    assert gpu.instances == (
        Instance(index="0:1", uuid="MIG-1", profile="1g.10gb", memory_bytes=10 * GIB),
    )
    assert (gpu.mig_profile, gpu.usable_bytes) == ("1g.10gb", 10 * GIB)
    assert (host.gpus_read_by, host.driver_cuda, host.nvcc) == ("nvml", "12.4", None)
    assert (host.memory_of("0"), host.memory_of("0:1"), host.memory_of("1")) == (
        80 * GIB, 10 * GIB, None)  # fmt: skip
    # what the instance cannot hold is no peak of it
    assert [m.device_peak_bytes for m in log.attempts[0].memory] == [9 * GIB, None]
    assert len(log.problems) == 1


def test_a_card_that_shares_the_hosts_memory_is_held_against_it():
    card = {**CARD, "memory_bytes": None, "unified": True}
    host = read(opening(0, gpus=[card])).sessions[0].host
    assert host.unified
    assert host.size_of(host.gpus[0]) == 128 * GIB


def test_whose_memory_a_peak_is_stands_beside_it():
    entry = {**peak("parent", 0, device_peak_bytes=9 * GIB), "process_peak_bytes": 8 * GIB,
             "attribution": "process"}  # fmt: skip
    [attempt] = read(opening(0), begin(1), finish(5, 4.0, memory=[entry])).attempts
    [memory] = attempt.memory
    assert (memory.process_peak_bytes, memory.attribution) == (8 * GIB, "process")


def test_a_phase_of_the_parent_lies_around_what_the_hook_saw_inside():
    hook = {"layer": "hook"}
    log = read(
        opening(0), begin(1),
        line("phase.start", 2, 40, attempt="a1", phase="prepare", layer="parent"),
        inside("phase.start", 10, phase="load", **hook),
        inside("phase.end", 30, phase="load", duration_s=20.0, **hook),
        line("phase.end", 52, 40, attempt="a1", phase="prepare", layer="parent", duration_s=50.0),
        finish(61, 60.0),
    )  # fmt: skip
    [attempt] = combine([log]).attempts
    assert attempt.phase_s("prepare") == pytest.approx(30)  # 50 - 20
    assert attempt.phase_s("load") == pytest.approx(20)
    assert attempt.layers_of("prepare") == ("parent",)


def test_a_result_meets_what_was_expected_of_it():
    log = read(
        opening(0), begin(1, expected={"accuracy": "71.2", "speed": "3"}),
        inside("result", 2, name="accuracy", value=70.9),
        inside("result", 3, name="loss", value=1.5, expected=1.4),
        finish(5, 4.0),
    )  # fmt: skip
    [attempt] = combine([log]).attempts
    assert [(item.name, item.value, expected) for item, expected in attempt.judged_results()] == [
        ("accuracy", 70.9, "71.2"), ("loss", 1.5, 1.4), ("speed", None, "3")]  # fmt: skip
