"""`probe env` says what the host is, and that what it does not know is unknown."""

from __future__ import annotations

from typing import Any

from budget.probe import host
from budget.probe.hostreport import report, size

CARD = {
    "index": 0,
    "name": "NVIDIA H100 80GB HBM3",
    "uuid": "GPU-1",
    "memory_bytes": 85520809984,
    "compute_capability": "9.0",
    "unified": False,
    "ecc": True,
    "persistence": False,
    "mig": False,
    "mig_devices": [],
}
START: dict[str, Any] = {
    "host": {
        "os": "linux-x86_64",
        "os_release": "Debian GNU/Linux 12",
        "cpu": "AMD EPYC",
        "cpu_flags": ["avx2", "avx512f"],
        "cpu_count": 2,
        "ram_bytes": 25276502016,
        "glibc": "2.36",
        "python": "3.11.7",
    },
    "gpus": [CARD],
    "gpus_read_by": "nvml",
    "gpus_why": None,
    "driver": "550.54.15",
    "driver_cuda": "12.4",
    "nvcc": "12.2",
    "scheduler": {"slurm_job": "7", "slurm_partition": "gpu"},
    "boot": "19cb43bab633b507",
}


def lines(**changes: Any) -> list[str]:
    """The report's lines without their indentation."""
    return [line.strip() for line in report({**START, **changes}).split("\n")]


def test_a_size_is_said_in_gib_and_in_bytes() -> None:
    # 25,276,502,016 / 2^30 = 23.5406 …
    assert size(25276502016) == "23.54 GiB (25276502016 bytes)"
    assert size(None) is None


def test_a_whole_host_is_reported_with_all_that_is_known() -> None:
    text = report(START)
    for part in (
        "Debian GNU/Linux 12, linux-x86_64",
        "2 logical processors",
        "with avx2 avx512f",
        "1 (read by nvml)",
        "0: NVIDIA H100 80GB HBM3",
        # 85,520,809,984 / 2^30 = 79.6475 …
        "memory: 79.65 GiB (85520809984 bytes)",
        "compute capability: 9.0",
        "error correction: on",
        "driver stays loaded: no",
        "cut into instances: no",
        "550.54.15",
        "serves CUDA up to 12.4",
        "Slurm job 7, partition gpu",
    ):
        assert part in text
    assert "not known" not in text


def test_what_is_unknown_is_said_to_be_and_is_never_0() -> None:
    text = report({"host": {}, "gpus": [{"index": 0}], "gpus_why": None})
    assert "Processor   not known: the system does not say" in text
    assert "memory: not known: the driver does not say" in text
    assert "error correction: not known" in text
    assert "cut into instances: not known" in text
    assert "Driver      not known: the driver does not say" in text
    assert " 0 " not in text
    assert "None" not in text
    assert "0.00" not in text


def test_a_host_without_a_card_differs_from_one_whose_cards_could_not_be_read() -> None:
    without = lines(gpus=[], gpus_why="nvidia-smi was not found", driver=None)
    assert "Cards       none: nvidia-smi was not found" in without
    assert "Driver      none" in without
    assert "Cards       not known: the driver did not answer" in lines(
        gpus=[], gpus_why="the driver did not answer", driver=None
    )
    assert "Driver      not known: the driver did not answer" in lines(
        gpus=[], gpus_why="the driver did not answer", driver=None
    )


def test_a_unified_memory_is_the_hosts() -> None:
    card = {**CARD, "unified": True, "memory_bytes": None}
    assert "memory: shared with the host, and counted as the host's" in lines(gpus=[card])


def test_the_instances_of_a_card_are_listed() -> None:
    instance = {"index": "0:1", "uuid": "MIG-1", "profile": "1g.10gb", "memory_bytes": 10 * 2**30}
    cut = {**CARD, "mig": True, "mig_devices": [instance, {"index": "0:2"}]}
    listed = lines(gpus=[cut])
    assert "cut into instances: yes" in listed
    assert "instance 0:1: 1g.10gb, 10.00 GiB (10737418240 bytes), id MIG-1" in listed
    assert "instance 0:2: profile not known, memory not known, id not known" in listed
    assert any(
        line.startswith("no instance is visible here")
        for line in lines(gpus=[{**CARD, "mig": True, "mig_devices": []}])
    )


def test_a_host_outside_a_batch_job_has_none() -> None:
    assert "Batch job   none" in lines(scheduler=None)


def test_macos_has_no_glibc() -> None:
    mac = {"os": "macos-arm64", "os_release": "macOS 15.1", "glibc": None}
    assert "glibc       not known: macOS has none" in lines(host=mac)


def test_this_host_is_reported() -> None:
    text = report(host.session_start("parent"))
    assert "logical processor" in text
    assert "GiB (" in text
