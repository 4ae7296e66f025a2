"""What the driver's library says, asked through a stand-in for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from budget.probe import nvml
from budget.probe.nvml import Library, Memory
from budget.probe.process_list import UNTOUCHED, processes
from tests.probe.standin import build_library

MIB = 2**20
Open = Callable[..., Library]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nvml")


@pytest.fixture
def standin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens a library that behaves as its words say, built with the flags."""

    def standin(words: str = "", *flags: str, listed: str = "") -> Library:
        path = folder / f"libnvml-standin{''.join(flags)}.so"
        if not path.exists():
            build_library(folder, *flags)
        processes = folder / "processes"
        processes.write_text(listed)
        monkeypatch.setenv("COMPUTE_BUDGET_PROBE_NVML", str(path))
        monkeypatch.setenv("STANDIN_NVML", words)
        monkeypatch.setenv("STANDIN_NVML_PROCESSES", str(processes))
        return Library()

    return standin


def test_a_card_says_what_it_is_and_what_it_does(standin: Open) -> None:
    library = standin()
    first, second = library.cards()
    assert (first.number, second.number) == (0, 1)
    assert library.name(first.handle) == "NVIDIA H100"
    assert library.uuid(second.handle) == "GPU-1"
    assert library.compute_capability(first.handle) == "9.0"
    assert library.ecc(first.handle) is True
    assert library.persistence(first.handle) is False
    assert library.mig(first.handle) is False
    assert library.instances(first.handle) == []
    assert library.memory(second.handle) == Memory(81559 * MIB, 2000 * MIB, False)
    assert library.utilisation_percent(first.handle) == 37.0
    assert library.power_w(first.handle) == 70.123  # 70,123 mW
    assert library.driver() == "550.54.15"
    assert library.driver_cuda() == "12.4"  # 12040: 12 x 1000 + 4 x 10


def test_what_a_card_does_not_tell_is_none_and_never_0(standin: Open) -> None:
    library = standin("missing")
    handle = library.cards()[0].handle
    told = (
        library.compute_capability(handle),
        library.ecc(handle),
        library.persistence(handle),
        library.mig(handle),
        library.utilisation_percent(handle),
        library.power_w(handle),
        library.processes(handle),
    )
    assert told == (None,) * 7
    assert library.instances(handle) == []
    assert library.memory(handle).used_bytes == 1000 * MIB


def test_the_largest_number_stands_for_an_unknown_one(standin: Open) -> None:
    library = standin("sentinel", listed="77 5\n")
    handle = library.cards()[0].handle
    assert library.memory(handle) == Memory(None, None, None)
    assert library.utilisation_percent(handle) is None
    assert library.power_w(handle) is None
    # the process is named all the same
    assert library.processes(handle) == {77: None}


def test_a_card_without_memory_of_its_own_shares_that_of_the_host(standin: Open) -> None:
    library = standin("unified")
    first, second = library.cards()
    assert library.memory(first.handle).unified is False
    assert library.memory(second.handle) == Memory(None, None, True)
    assert library.utilisation_percent(second.handle) == 37.0


def test_instances_of_a_card_have_number_profile_and_memory(standin: Open) -> None:
    library = standin("mig")
    first, second = library.cards()
    assert library.mig(first.handle) is True
    assert library.mig(second.handle) is False
    (number, small), (other, large) = library.instances(first.handle)
    # the stand-in's card has none of number 1
    assert (number, other) == (0, 2)
    assert (library.profile(small), library.profile(large)) == ("1g.10gb", "2g.20gb")
    assert (library.uuid(small), library.uuid(large)) == ("MIG-0", "MIG-2")
    assert library.memory(small) == Memory(9856 * MIB, 100 * MIB, False)
    assert library.memory(large) == Memory(19712 * MIB, 200 * MIB, False)
    assert library.utilisation_percent(small) is None


def test_a_lost_card_says_nothing_and_the_other_goes_on(standin: Open) -> None:
    library = standin("lost")
    first, second = library.cards()
    assert library.memory(second.handle).used_bytes == 2000 * MIB
    assert library.memory(second.handle) == Memory(None, None, None)
    assert library.name(second.handle) is None
    assert library.power_w(second.handle) is None
    assert library.processes(second.handle) is None
    assert library.memory(first.handle).used_bytes == 1000 * MIB


def test_the_cards_of_other_jobs_are_left_out_and_the_index_stays(standin: Open) -> None:
    (card,) = standin("hidden").cards()
    assert card.number == 1


@pytest.mark.parametrize("flags", [(), ("-DMIDDLE",), ("-DOLD",), ("-DLONG",), ("-DCLEARING",)])
@pytest.mark.parametrize("count", [1, 3])
def test_every_version_of_the_library_lists_the_same_processes(
    standin: Open, flags: tuple[str, ...], count: int
) -> None:
    listed = {100 + number: number * MIB for number in range(count)}
    text = "".join(f"{pid} {size}\n" for pid, size in listed.items())
    library = standin("", *flags, listed=text)
    first, second = library.cards()
    assert library.processes(first.handle) == listed
    assert library.processes(second.handle) == {}


def test_the_first_version_counts_what_the_driver_reserves(standin: Open) -> None:
    library = standin("", "-DOLD")
    first, _ = library.cards()
    # 1000 MiB in use and 500 MiB reserved
    assert library.memory(first.handle) == Memory(81559 * MIB, 1500 * MIB, False)
    assert library.mig(first.handle) is None


def test_more_processes_than_were_thought_of_are_listed(standin: Open) -> None:
    library = standin("many")
    found = library.processes(library.cards()[0].handle)
    # room for 64, then for 4 x 64 = 256, then for 1024
    assert found == {5000 + number: MIB for number in range(1000)}


def test_a_process_on_two_instances_is_one_process() -> None:
    def entry(pid: int, size: int) -> bytes:
        return pid.to_bytes(8, "little") + size.to_bytes(8, "little")

    content = entry(7, 10) + entry(8, 1) + entry(7, 32) + UNTOUCHED * 16
    assert processes(content, 3, (16,)) == {7: 42, 8: 1}
    content = entry(7, 10) + entry(7, 2**64 - 1) + UNTOUCHED * 16
    assert processes(content, 2, (16,)) == {7: None}


def test_a_library_that_does_not_serve_says_why(standin: Open) -> None:
    with pytest.raises(nvml.Failed, match=r"^NVML failed: Driver/library version mismatch$"):
        standin("mismatch")


def test_a_library_that_is_not_there_is_told_from_one_that_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMPUTE_BUDGET_PROBE_NVML", str(tmp_path / "missing.so"))
    with pytest.raises(nvml.Unloadable):
        Library()


def test_a_library_is_opened_once_and_not_taken_over_by_a_fork(
    standin: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    standin()
    monkeypatch.setattr(nvml, "_opened", {})
    opened = nvml.library()
    assert nvml.library() is opened
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert nvml.library() is not opened
