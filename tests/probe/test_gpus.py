"""What the driver says about the cards, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from budget import hosts
from budget.hosts import Gpu, Host
from budget.probe import gpus, host, nvcc, nvml
from budget.probe.cards import parse, parse_instances
from tests.probe.desk import Desk
from tests.probe.standin import build_library, install_tool

TWO_CARDS = """\
0, NVIDIA H100 80GB HBM3, GPU-aaaa, 81559 MiB, 9.0, 550.54.15, Enabled, Disabled, Disabled
1, NVIDIA GB10, GPU-bbbb, [N/A], 12.1, 550.54.15, [N/A], Enabled, [N/A]
"""
VERSION = """\
NVIDIA-SMI version  : 550.54.15
NVML version        : 550.54
DRIVER version      : 550.54.15
CUDA Version        : 12.4
"""
# What `nvidia-smi -L` says of an instance among whole cards.
LISTED = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-aaaa)
  MIG 1g.5gb      Device  0: (UUID: MIG-cccc)
  MIG 1c.3g.20gb  Device  1: (UUID: MIG-GPU-aaaa/2/0)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-bbbb)
"""
ALL = "index,name,uuid,memory.total,compute_cap,driver_version"
MODES = ",ecc.mode.current,persistence_mode,mig.mode.current"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_library(tmp_path_factory.mktemp("nvml"))


def test_the_cards_are_in_session_start_and_the_driver_is_asked_once(desk: Desk) -> None:
    install_tool(
        desk,
        f'echo "$@" >> asked\ncase "$1" in\n--version) cat <<END\n{VERSION}END\n'
        f";;\n*--loop*) ;;\n*) cat <<END\n{TWO_CARDS}END\nesac\n",
    )
    desk.probe("start")
    desk.run("true")
    asked = (desk.folder / "asked").read_text().splitlines()
    # what samples the cards of the run asks for other fields
    assert [line for line in asked if "--loop" not in line] == [
        f"--query-gpu={ALL}{MODES} --format=csv,noheader",
        "--version",
    ]
    for start in desk.records("session.start"):
        assert start["gpus"] == [
            {
                "index": 0,
                "name": "NVIDIA H100 80GB HBM3",
                "uuid": "GPU-aaaa",
                "memory_bytes": 81559 * 2**20,
                "compute_capability": "9.0",
                "unified": False,
                "ecc": True,
                "persistence": False,
                "mig": False,
                "mig_devices": [],
            },
            {
                "index": 1,
                "name": "NVIDIA GB10",
                "uuid": "GPU-bbbb",
                "memory_bytes": None,
                "compute_capability": "12.1",
                "unified": True,
                "ecc": None,
                "persistence": True,
                "mig": None,
                "mig_devices": [],
            },
        ]
        assert start["gpus_why"] is None
        assert start["driver"] == "550.54.15"
        assert start["driver_cuda"] == "12.4"
        assert start["gpus_read_by"] == "nvidia-smi"


def test_a_host_without_a_driver_says_why_it_names_no_card(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.env["PATH"] = str(tmp_path)
    desk.probe("start")
    start = desk.only("session.start")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (start["gpus"], start["gpus_why"]) == ([], gpus.read_gpus().why)
    assert (start["driver"], start["driver_cuda"], start["gpus_read_by"]) == (None, None, None)


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
    monkeypatch.setattr(gpus, "WSL_TOOL", str(tmp_path / "missing"))
    monkeypatch.setattr(nvml, "LIBRARIES", ("missing",))
    assert gpus.read_gpus() == ([], why, None, None, None)
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
    assert (gpus.NONE, gpus.NONE_ON_MACOS) == hosts.NO_GPU_SIGNS
    log = (Path(gpus.__file__).parent / "LOG.md").read_text(encoding="utf-8")
    assert all(f"`{sign}`" in log for sign in hosts.NO_GPU_SIGNS)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'No devices were found'; exit 6\n", "nvidia-smi failed: No devices were found"),
        ("echo 'No devices were found'\n", "nvidia-smi names no card: No devices were found"),
        ("exit 9\n", "nvidia-smi failed: "),
    ],
)
def test_a_driver_that_fails_is_a_reason(desk: Desk, script: str, why: str) -> None:
    install_tool(desk, script)
    desk.probe("start")
    start = desk.only("session.start")
    assert (start["gpus"], start["gpus_why"]) == ([], why)


def test_an_old_driver_is_asked_without_the_fields_that_it_does_not_know(desk: Desk) -> None:
    # one that names one of them at a time
    unknown = "".join(
        f"*{field}*) echo 'Field \"{field}\" is not a valid field to query.'; exit 2;;\n"
        for field in ("compute_cap", "mig.mode.current")
    )
    install_tool(
        desk,
        f'case "$1" in --version) echo unknown option; exit 1;;\n{unknown}esac\n'
        "echo '0, Tesla V100, GPU-c, 16160 MiB, 450.80.02, Enabled, Disabled'\n",
    )
    desk.probe("start")
    start = desk.only("session.start")
    (card,) = start["gpus"]
    assert (card["name"], card["compute_capability"], card["mig"]) == ("Tesla V100", None, None)
    assert (card["ecc"], card["persistence"]) == (True, False)
    assert (start["driver"], start["driver_cuda"]) == ("450.80.02", None)


def test_the_library_is_asked_before_the_tool(desk: Desk, library: Path) -> None:
    install_tool(desk, "touch asked\n")
    desk.env.update({"COMPUTE_BUDGET_PROBE_NVML": str(library), "STANDIN_NVML": "mig"})
    desk.probe("start")
    start = desk.only("session.start")
    common = {
        "name": "NVIDIA H100",
        "memory_bytes": 81559 * 2**20,
        "compute_capability": "9.0",
        "unified": False,
        "ecc": True,
        "persistence": False,
    }
    small = {"uuid": "MIG-0", "profile": "1g.10gb", "memory_bytes": 9856 * 2**20}
    large = {"uuid": "MIG-2", "profile": "2g.20gb", "memory_bytes": 19712 * 2**20}
    instances = [{"index": "0:0", **small}, {"index": "0:2", **large}]
    assert start["gpus"] == [
        {"index": 0, "uuid": "GPU-0", **common, "mig": True, "mig_devices": instances},
        {"index": 1, "uuid": "GPU-1", **common, "mig": False, "mig_devices": []},
    ]
    assert (start["gpus_read_by"], start["gpus_why"]) == ("nvml", None)
    assert (start["driver"], start["driver_cuda"]) == ("550.54.15", "12.4")
    assert not (desk.folder / "asked").exists()


def test_a_lost_card_is_named_without_facts(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPUTE_BUDGET_PROBE_NVML", str(library))
    monkeypatch.setenv("STANDIN_NVML", "lost")
    monkeypatch.setattr(nvml, "_opened", {})
    # the stand-in loses card 1 after its memory was asked for twice
    gpus.read_gpus()
    first, second = gpus.read_gpus().cards
    assert first["memory_bytes"] == 81559 * 2**20
    facts = {key: value for key, value in second.items() if key != "index"}
    assert second["index"] == 1
    assert facts.pop("mig_devices") == []
    assert set(facts.values()) == {None}


def test_a_driver_that_never_answers_is_a_reason(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPUTE_BUDGET_PROBE_NVML", str(library))
    monkeypatch.setenv("STANDIN_NVML", "slow-init")
    monkeypatch.setenv("STANDIN_NVML_SLOW_MS", "1000")
    monkeypatch.setattr(nvml, "_opened", {})
    monkeypatch.setattr(gpus, "TIMEOUT_S", 0.1)
    assert gpus.read_gpus().why == "NVML did not answer (TimeoutExpired)"


def test_instances_are_read_from_the_list_of_the_tool(desk: Desk) -> None:
    assert parse_instances(LISTED) == {
        0: [
            {"index": "0:0", "uuid": "MIG-cccc", "profile": "1g.5gb", "memory_bytes": None},
            {
                "index": "0:1",
                "uuid": "MIG-GPU-aaaa/2/0",
                "profile": "1c.3g.20gb",
                "memory_bytes": None,
            },
        ]
    }
    row = "NVIDIA A100-SXM4-40GB, {}, 40960 MiB, 8.0, 550, Enabled, Enabled, {}"
    install_tool(
        desk,
        f'case "$1" in -L) cat <<END\n{LISTED}END\n;;\n--query*)\n'
        f"echo '0, {row.format('GPU-aaaa', 'Enabled')}'\n"
        f"echo '1, {row.format('GPU-bbbb', 'Disabled')}';;\nesac\n",
    )
    desk.probe("start")
    first, second = desk.only("session.start")["gpus"]
    assert first["mig"] is True
    assert first["mig_devices"] == parse_instances(LISTED)[0]
    assert (second["mig"], second["mig_devices"]) == (False, [])


def test_ids_of_cards_and_jobs_are_replaced_if_asked(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPUTE_BUDGET_PROBE_NVML", str(library))
    monkeypatch.setenv("STANDIN_NVML", "mig")
    monkeypatch.setattr(nvml, "_opened", {})
    job = {"JOB_ID": "4711", "JOB_PARTITION": "secretive", "JOB_END_TIME": "1893456000"}
    for name, text in job.items():
        monkeypatch.setenv("SLURM_" + name, text)
    open_start = host.session_start("parent", None)
    assert open_start["redacted"] is False
    assert open_start["scheduler"] == {
        "slurm_job": "4711",
        "slurm_partition": "secretive",
        "slurm_end_time": "1893456000",
    }
    start = host.session_start("parent", None, True)
    assert start["redacted"] is True
    assert start["scheduler"] == {
        "slurm_job": "***",
        "slurm_partition": "***",
        "slurm_end_time": "1893456000",
    }
    first, second = start["gpus"]
    assert first["uuid"] == second["uuid"] == "***"
    assert [instance["uuid"] for instance in first["mig_devices"]] == ["***", "***"]
    assert first["name"] == open_start["gpus"][0]["name"]
    assert host.session_start_unasked("hook", True)["scheduler"]["slurm_job"] == "***"


def test_every_file_of_a_session_has_the_same_keys() -> None:
    asked, unasked = host.session_start("parent"), host.session_start_unasked("hook")
    assert list(asked) == list(unasked)
    log = (Path(gpus.__file__).parent / "LOG.md").read_text(encoding="utf-8")
    assert [key for key in asked if f"| `{key}` |" not in log] == []
    card = parse(TWO_CARDS).cards[0]
    assert [key for key in card if f"| `gpus.{key}` |" not in log] == []


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("Cuda compilation tools, release 12.4, V12.4.131", "12.4.131"),
        ("Cuda compilation tools, release 9.1", "9.1"),
        ("nvcc fatal: no", None),
    ],
)
def test_the_compiler_on_the_path_says_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, version: str | None
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert nvcc.version() is None
    compiler = tmp_path / "nvcc"
    compiler.write_text(f"#!/bin/sh\necho 'nvcc: NVIDIA (R) Cuda compiler driver'\necho '{said}'\n")
    compiler.chmod(0o755)
    assert nvcc.version() == version


def test_a_toolkit_that_states_its_version_need_not_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cuda-12.4" / "bin"
    folder.mkdir(parents=True)
    compiler = folder / "nvcc"
    compiler.write_text("#!/bin/sh\necho release 1.0, V1.0.0\n")
    compiler.chmod(0o755)
    (tmp_path / "cuda").symlink_to(tmp_path / "cuda-12.4")
    monkeypatch.setenv("PATH", str(tmp_path / "cuda" / "bin"))
    stated = tmp_path / "cuda-12.4" / "version.json"
    stated.write_text('{"cuda_nvcc": {"name": "CUDA NVCC", "version": "12.4.131"}}')
    assert nvcc.version() == "12.4.131"
    for broken in ("{", "[]", '{"cuda_nvcc": {"version": 12}}', '{"cuda": {}}'):
        stated.write_text(broken)
        assert nvcc.version() == "1.0.0"


def test_a_compiler_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\nexec sleep 60\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(nvcc, "TIMEOUT_S", 0.2)
    assert nvcc.version() is None


@pytest.mark.parametrize(
    "size",
    [
        *("[N/A]", "[Not Supported]", "[Insufficient Permissions]", "[GPU is lost]"),
        *("N/A", "", "-", "Unknown", "0 MiB", "80 GB"),
        *("17592186044415 MiB", "18446744073709551615"),
    ],
)
def test_a_memory_that_is_not_stated_is_null_and_never_0(size: str) -> None:
    (card,) = parse(f"0, A, GPU-a, {size}, 8.0, 550, Enabled, Enabled, Disabled\n").cards
    assert card["memory_bytes"] is None


@pytest.mark.parametrize(
    ("size", "unified"),
    [
        ("81559 MiB", False),
        ("[N/A]", True),
        ("[Not Supported]", True),
        ("[GPU is lost]", None),
        ("[Insufficient Permissions]", None),
        ("17592186044415 MiB", None),
    ],
)
def test_only_a_card_without_a_memory_of_its_own_shares_that_of_the_host(
    size: str, unified: bool | None
) -> None:
    (card,) = parse(f"0, A, GPU-a, {size}, 8.0, 550, Enabled, Enabled, Disabled\n").cards
    assert card["unified"] is unified
