"""What the driver says about the cards, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from budget import attempts
from budget.attempts import Gpu, Host
from budget.probe import gpus
from budget.probe.gpus import parse
from tests.probe.desk import Desk

TWO_CARDS = """\
0, NVIDIA H100 80GB HBM3, GPU-aaaa, 81559 MiB, 9.0, 550.54.15
1, NVIDIA GB10, GPU-bbbb, [N/A], 12.1, 550.54.15
"""


def install(desk: Desk, script: str) -> None:
    folder = desk.folder / "bin"
    folder.mkdir(exist_ok=True)
    tool = folder / "nvidia-smi"
    tool.write_text("#!/bin/sh\n" + script)
    tool.chmod(0o755)
    desk.env["PATH"] = f"{folder}:{desk.env['PATH']}"


def test_the_cards_are_in_session_start_and_the_driver_is_asked_once(desk: Desk) -> None:
    install(desk, f'echo "$@" >> asked; cat <<END\n{TWO_CARDS}END\n')
    desk.probe("start")
    desk.run("true")
    asked = (desk.folder / "asked").read_text()
    assert asked == (
        "--query-gpu=index,name,uuid,memory.total,compute_cap,driver_version"
        " --format=csv,noheader\n"
    )
    for start in desk.records("session.start"):
        assert start["gpus"] == [
            {
                "index": 0,
                "name": "NVIDIA H100 80GB HBM3",
                "uuid": "GPU-aaaa",
                "memory_bytes": 81559 * 2**20,
                "compute_capability": "9.0",
            },
            {
                "index": 1,
                "name": "NVIDIA GB10",
                "uuid": "GPU-bbbb",
                "memory_bytes": None,
                "compute_capability": "12.1",
            },
        ]
        assert start["gpus_why"] is None
        assert start["driver"] == "550.54.15"


def test_a_host_without_a_driver_says_why_it_names_no_card(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.env["PATH"] = str(tmp_path)
    desk.probe("start")
    start = desk.only("session.start")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (start["gpus"], start["gpus_why"]) == ([], gpus.read_gpus().why)
    assert start["driver"] is None


@pytest.mark.parametrize(
    ("platform", "traces", "why", "count"),
    [
        ("linux", (), "nvidia-smi was not found", 0),
        ("linux", ("/",), "nvidia-smi is missing, but / shows a GPU", None),
        ("darwin", (), "macOS has no driver for NVIDIA GPUs", 0),
    ],
)
def test_there_is_no_card_only_where_nothing_shows_one(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    platform: str,
    traces: tuple[str, ...],
    why: str,
    count: int | None,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpus.sys, "platform", platform)
    monkeypatch.setattr(gpus, "TRACES", traces)
    assert gpus.read_gpus() == ([], why, None)
    assert Host(gpus_why=why).gpu_count == count


@pytest.mark.parametrize(
    "why",
    [
        None,
        "",
        "nvidia-smi failed: No devices were found",
        "nvidia-smi did not answer (TimeoutExpired)",
        "not asked by the measured program",
    ],
)
def test_cards_that_could_not_be_read_are_not_zero_cards(why: str | None) -> None:
    assert Host(gpus_why=why).gpu_count is None
    assert Host(gpus=(Gpu(), Gpu()), gpus_why=why).gpu_count == 2


def test_probe_and_reader_agree_on_what_means_no_card() -> None:
    assert (gpus.NONE, gpus.NONE_ON_MACOS) == attempts.NO_GPU_SIGNS
    log = (Path(gpus.__file__).parent / "LOG.md").read_text(encoding="utf-8")
    assert all(f"`{sign}`" in log for sign in attempts.NO_GPU_SIGNS)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'No devices were found'; exit 6\n", "nvidia-smi failed: No devices were found"),
        ("echo 'No devices were found'\n", "nvidia-smi names no card: No devices were found"),
        ("exit 9\n", "nvidia-smi failed: "),
    ],
)
def test_a_driver_that_fails_is_a_reason(desk: Desk, script: str, why: str) -> None:
    install(desk, script)
    desk.probe("start")
    start = desk.only("session.start")
    assert (start["gpus"], start["gpus_why"]) == ([], why)


def test_an_old_driver_is_asked_without_the_compute_capability(desk: Desk) -> None:
    install(
        desk,
        'case "$1" in *compute_cap*)\n'
        "  echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2;;\nesac\n"
        "echo '0, Tesla V100, GPU-c, 16160 MiB, 450.80.02'\n",
    )
    desk.probe("start")
    (card,) = desk.only("session.start")["gpus"]
    assert (card["name"], card["compute_capability"]) == ("Tesla V100", None)
    assert desk.only("session.start")["driver"] == "450.80.02"


@pytest.mark.parametrize(
    "size",
    [
        *("[N/A]", "[Not Supported]", "[Insufficient Permissions]", "[GPU is lost]"),
        *("N/A", "", "-", "Unknown", "0 MiB", "80 GB"),
        *("17592186044415 MiB", "18446744073709551615"),
    ],
)
def test_a_memory_that_is_not_stated_is_null_and_never_0(size: str) -> None:
    (card,) = parse(f"0, A, GPU-a, {size}, 8.0, 550\n").cards
    assert card["memory_bytes"] is None
