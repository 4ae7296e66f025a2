"""What is sampled becomes windows and peaks; the process tree is found and counted."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import pytest

from budget.probe import samples, tree
from budget.probe.devices import Reading
from budget.probe.samples import Sampler, Windows

MIB = 2**20


class Cards:
    """Stands in for the driver: gives one list of readings after another."""

    read_by, why = "nvml", None

    def __init__(self, *readings: list[Reading]):
        self.readings = list(readings)

    def read(self) -> list[Reading]:
        return self.readings.pop(0)

    def close(self) -> None:
        raise RuntimeError("the driver is gone")


class Own:
    """Stands in for the process tree."""

    def __init__(self, pids: list[int], resident_bytes: int | None):
        self.now = tree.Resident(pids, resident_bytes)

    def read(self) -> tree.Resident:
        return self.now


def card(used_bytes: int | None, **told: Any) -> Reading:
    return Reading(told.get("device", 0), used_bytes, told.get("utilisation"),
                   told.get("power"), told.get("processes"))  # fmt: skip


def test_a_window_holds_lowest_mean_highest_and_count() -> None:
    """(10 + 20 + 60) / 3 = 30."""
    windows = Windows()
    for value in (10, 20, 60):
        windows.add("host", resident_bytes=value)
    (record,) = windows.close()
    assert record["resident_bytes"] == {"min": 10, "mean": 30, "max": 60, "count": 3}
    assert record["device"] == "host"


def test_what_a_card_does_not_tell_is_absent_and_a_silent_card_has_no_window() -> None:
    windows = Windows()
    windows.add(0, memory_used_bytes=5, utilisation_percent=None, power_w=None)
    windows.add(1, memory_used_bytes=None, utilisation_percent=None, power_w=None)
    (record,) = windows.close()
    assert set(record) == {"window_s", "device", "memory_used_bytes"}
    assert windows.close() == []


def test_a_card_s_peak_stands_beside_its_baseline_and_its_processes() -> None:
    """Processes 7 and 8 are the command's: 300 + 200 MiB at the second sample; 9 is another's."""
    cards = Cards(
        [card(100 * MIB)],
        [card(500 * MIB, processes={7: 300 * MIB, 9: 50 * MIB})],
        [card(900 * MIB, processes={7: 300 * MIB, 8: 200 * MIB, 9: 50 * MIB})],
        [card(400 * MIB, processes={9: 50 * MIB})],
    )
    sampler = Sampler(cards, 1.0)  # type: ignore[arg-type]
    for _ in range(3):
        sampler.sample(Own([7, 8], 30 * MIB))  # type: ignore[arg-type]
    host, entry = sampler.entries(0)
    assert host["resident_peak_bytes"] == 30 * MIB
    assert (entry["device"], entry["samples"], entry["exact"]) == (0, 3, False)
    assert entry["baseline_bytes"] == 100 * MIB
    assert entry["device_peak_bytes"] == 900 * MIB
    assert entry["process_peak_bytes"] == 500 * MIB
    assert entry["attribution"] == "process"
    sampler.close()


def test_a_driver_that_names_none_of_the_processes_leaves_the_whole_card() -> None:
    cards = Cards([card(0)], [card(5 * MIB, processes={4711: 5 * MIB})])
    sampler = Sampler(cards, 1.0)  # type: ignore[arg-type]
    sampler.sample(Own([7], 1))  # type: ignore[arg-type]
    entry = sampler.entries(0)[1]
    assert (entry["attribution"], entry["process_peak_bytes"]) == ("device", None)


def test_a_process_whose_size_is_not_told_makes_no_sum() -> None:
    cards = Cards([card(0)], [card(5 * MIB, processes={7: 3 * MIB, 8: None})])
    sampler = Sampler(cards, 1.0)  # type: ignore[arg-type]
    sampler.sample(Own([7, 8], 1))  # type: ignore[arg-type]
    entry = sampler.entries(0)[1]
    assert (entry["attribution"], entry["process_peak_bytes"]) == ("process", None)


def test_a_card_that_tells_nothing_has_no_figures_and_not_zero() -> None:
    cards = Cards([card(None)], [card(None)])
    sampler = Sampler(cards, 1.0)  # type: ignore[arg-type]
    sampler.sample(Own([7], None))  # type: ignore[arg-type]
    host, entry = sampler.entries(0)
    assert host["resident_peak_bytes"] is None
    assert (entry["device_peak_bytes"], entry["baseline_bytes"]) == (None, None)


def test_sampling_is_dense_at_the_start_and_after_a_rise(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 MiB to 200 MiB rises by more than 64 MiB; 200 to 210 does not."""
    clock = [1000.0]
    monkeypatch.setattr(samples.time, "monotonic", lambda: clock[0])
    sampler = Sampler(None, 2.0)
    sampler.begin()
    assert sampler.interval_s() == 0.2
    clock[0] += 5.1
    assert sampler.interval_s() == 2.0
    for size, interval_s in ((100, 2.0), (200, 0.2), (210, 0.2)):
        sampler.sample(Own([7], size * MIB))  # type: ignore[arg-type]
        assert sampler.interval_s() == interval_s
    clock[0] += 5.1
    sampler.sample(Own([7], 220 * MIB))  # type: ignore[arg-type]
    assert sampler.interval_s() == 2.0


def test_grandchildren_belong_to_the_tree() -> None:
    sleeper = f"{sys.executable} -c 'import time; print(1, flush=True); time.sleep(30)'"
    process = subprocess.Popen(["sh", "-c", f"{sleeper}; true"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    found = tree.Tree(process.pid).search()
    assert found[0] == process.pid
    assert len(found) == 2
    for pid in found:
        os.kill(pid, 9)
    process.wait()


def test_the_search_for_processes_takes_a_small_share_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A listing that takes 10 ms may be repeated after 10 ms / 0.005 = 2 s."""
    clock, listings = [50.0], []

    def listed() -> dict[int, tuple[int, int | None]]:
        listings.append(clock[0])
        clock[0] += 0.01
        return {os.getpid(): (1, None)}

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(tree, "_processes", listed)
    own = tree.Tree(os.getpid())
    for _ in range(8):
        own.read()
        clock[0] += 0.5
    assert len(listings) == 2
