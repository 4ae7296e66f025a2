"""The cards while a command runs: through the driver's library, and through `nvidia-smi`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from budget.probe import devices, gpus, nvml, smi
from budget.probe.devices import Reading, open_devices
from budget.probe.smi import Loop, Row, row
from tests.probe.desk import Desk, await_that
from tests.probe.standin import build_library, in_new_python, install_tool

MIB = 2**20
LIBRARY = "COMPUTE_BUDGET_PROBE_NVML"

# Two cards, one round a second or so.
ROUNDS = """\
while true; do
    echo "0, 1000 MiB, 37 %, 70.12 W"
    echo "1, [N/A], [N/A], [N/A]"
    sleep 0.1
done
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_library(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def opened(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., devices.Devices]]:
    """Opens the cards of a library that behaves as its words say."""
    used: list[devices.Devices] = []

    def opened(words: str = "", slow_ms: int = 0) -> devices.Devices:
        monkeypatch.setenv(LIBRARY, str(library))
        monkeypatch.setenv("STANDIN_NVML", words)
        monkeypatch.setenv("STANDIN_NVML_SLOW_MS", str(slow_ms))
        monkeypatch.setattr(nvml, "_opened", {})
        used.append(open_devices(1.0))
        return used[-1]

    yield opened
    for each in used:
        each.close()


def test_each_card_gives_a_reading(opened: Callable[..., devices.Devices]) -> None:
    cards = opened()
    assert (cards.read_by, cards.why) == ("nvml", None)
    for _ in range(2):
        assert cards.read() == [
            Reading(0, 1000 * MIB, 37.0, 70.123, {}),
            Reading(1, 2000 * MIB, 37.0, 70.123, {}),
        ]


def test_the_instances_of_a_card_stand_in_its_place(
    opened: Callable[..., devices.Devices],
) -> None:
    assert opened("mig").read() == [
        Reading("0:0", 100 * MIB, None, None, {}),
        Reading("0:2", 200 * MIB, None, None, {}),
        Reading(1, 2000 * MIB, 37.0, 70.123, {}),
    ]


def test_a_card_lost_midway_has_no_values_and_the_other_goes_on(
    opened: Callable[..., devices.Devices],
) -> None:
    cards = opened("lost")
    assert [reading.used_bytes for reading in cards.read()] == [1000 * MIB, 2000 * MIB]
    assert cards.read() == [
        Reading(0, 1000 * MIB, 37.0, 70.123, {}),
        Reading(1, None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("mismatch", "NVML failed: Driver/library version mismatch"),
        ("none", "NVML names no card"),
    ],
)
def test_a_library_without_cards_is_a_reason_and_the_same_as_in_session_start(
    opened: Callable[..., devices.Devices], words: str, why: str
) -> None:
    cards = opened(words)
    assert (cards.read(), cards.read_by, cards.why) == ([], None, why)
    named = gpus.read_gpus()
    assert (named.cards, named.read_by, named.why) == ([], None, why)


def test_a_driver_that_takes_long_delays_nothing(
    opened: Callable[..., devices.Devices], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "OPEN_PATIENCE_S", 0.2)
    began = time.monotonic()
    # two cards of 400 ms each: a reading takes 0.8 s
    cards = opened("slow", slow_ms=400)
    assert time.monotonic() - began < 0.6
    assert (cards.read_by, cards.why) == ("nvml", None)
    empty = 0
    readings: list[Reading] = []
    while not readings:
        before = time.monotonic()
        readings = cards.read()
        assert time.monotonic() - before < 0.2
        empty += not readings
        time.sleep(0.05)
    # what came late counts
    assert empty > 3
    assert [reading.used_bytes for reading in readings] == [1000 * MIB, 2000 * MIB]


def test_a_driver_that_starts_slowly_and_then_fails_says_so_in_the_end(
    opened: Callable[..., devices.Devices], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "OPEN_PATIENCE_S", 0.05)
    cards = opened("slow-init mismatch", slow_ms=300)
    assert (cards.read(), cards.read_by) == ([], "nvml")
    await_that(lambda: cards.read() == [] and cards.read_by is None)
    assert cards.why == "NVML failed: Driver/library version mismatch"


def test_a_driver_that_never_answers_keeps_no_process_alive(desk: Desk, library: Path) -> None:
    desk.env.update({LIBRARY: str(library), "STANDIN_NVML": "slow-init"})
    desk.env["STANDIN_NVML_SLOW_MS"] = "600000"
    began = time.monotonic()
    said = in_new_python(
        desk,
        "from budget.probe import devices\n"
        "devices.OPEN_PATIENCE_S = 0.1\n"
        "cards = devices.open_devices(1.0)\n"
        "print(cards.read(), cards.read_by)\n"
        "cards.close()\n",
    )
    assert said == "[] nvml\n"
    assert time.monotonic() - began < 10


def test_a_forked_process_reads_nothing(opened: Callable[..., devices.Devices]) -> None:
    cards = opened()
    cards.read()
    child = os.fork()
    if child == 0:
        os._exit(0 if cards.read() == [] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_signal_still_reaches_the_main_thread(desk: Desk, library: Path) -> None:
    desk.env.update({LIBRARY: str(library), "STANDIN_NVML": ""})
    said = in_new_python(
        desk,
        "import os, signal\n"
        "from budget.probe.devices import open_devices\n"
        "cards = open_devices(1.0)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "print(signal.sigtimedwait({signal.SIGTERM}, 5).si_signo, len(cards.read()))\n",
    )
    assert said == "15 2\n"


def test_a_host_without_a_card_loads_nothing_and_takes_no_time(desk: Desk, tmp_path: Path) -> None:
    if gpus._trace() is not None:
        pytest.skip("this host shows a card")
    desk.env["PATH"] = str(tmp_path)
    said = in_new_python(
        desk,
        "import json, sys, time\n"
        "from budget.probe.devices import open_devices\n"
        "took = []\n"
        "for _ in range(20):\n"
        "    began = time.perf_counter()\n"
        "    cards = open_devices(1.0)\n"
        "    took.append(time.perf_counter() - began)\n"
        "loaded = [name for name in ('ctypes', 'csv') if name in sys.modules]\n"
        "print(json.dumps([min(took), loaded, cards.read_by, cards.why, cards.read()]))\n",
    )
    took_s, *rest = json.loads(said)
    assert rest == [[], None, gpus.why_without_tool(), []]
    assert took_s < 0.001


def test_what_fails_unforeseen_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise RuntimeError("no")

    monkeypatch.setattr(gpus, "smi_program", broken)
    cards = open_devices(1.0)
    assert (cards.read_by, cards.why) == (None, "the cards could not be asked (RuntimeError)")
    assert cards.read() == []
    cards.close()


def test_the_processes_of_the_command_are_told_from_others(desk: Desk, library: Path) -> None:
    listed = desk.folder / "listed"
    desk.env.update({LIBRARY: str(library), "STANDIN_NVML": ""})
    desk.env["STANDIN_NVML_PROCESSES"] = str(listed)
    # on card 0 another process holds 600 MiB, the command 300 MiB; on card 1 there is none
    desk.python(
        "import os, time\n"
        f"text = '1 {600 * MIB}\\n%d {300 * MIB}\\n' % os.getpid()\n"
        f"open({str(listed)!r}, 'w').write(text)\n"
        "time.sleep(1.0)\n"
    )
    end = desk.only("attempt.end")
    assert (end["devices_read_by"], end["devices_why"]) == ("nvml", None)
    memory = {entry["device"]: entry for entry in end["memory"]}
    assert memory[0]["process_peak_bytes"] == 300 * MIB
    assert memory[0]["attribution"] == "process"
    assert memory[0]["device_peak_bytes"] == memory[0]["baseline_bytes"] == 1000 * MIB
    assert memory[1]["process_peak_bytes"] is None
    assert memory[1]["attribution"] == "device"
    assert memory[1]["device_peak_bytes"] == 2000 * MIB


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0, 1000 MiB, 37 %, 70.12 W", Row(0, 1000 * MIB, 37.0, 70.12)),
        ("1, 0 MiB, 0 %, 9 W", Row(1, 0, 0.0, 9.0)),
        ("7, 1000, 37, 70.12", Row(7, 1000 * MIB, 37.0, 70.12)),
        ("0, [N/A], [Not Supported], [Unknown Error]", Row(0, None, None, None)),
        ("0, Unknown, -, N/A", Row(0, None, None, None)),
        ("0, , , ", Row(0, None, None, None)),
        ("0, [GPU is lost], [GPU is lost], [GPU is lost]", Row(0, None, None, None)),
        ("0, [Insufficient Permissions], ERR!, 0.00 W", Row(0, None, None, None)),
        # 2^64 - 1 bytes in MiB, and a share that none can be
        ("0, 17592186044415 MiB, 4294967295 %, inf W", Row(0, None, None, None)),
        ("0, 80 GB, 37 percent, 70 mW", Row(0, None, None, None)),
        ("index, memory.used [MiB], utilization.gpu [%], power.draw [W]", None),
        ("No devices were found", None),
        ("0, 1000 MiB, 37", None),
        ("", None),
    ],
)
def test_a_line_of_the_tool_is_read_or_left(line: str, expected: Row | None) -> None:
    assert row(line) == expected


@pytest.fixture
def started(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Opens the cards of a host where only the tool tells of them."""
    used: list[devices.Devices] = []

    def started(script: str) -> devices.Devices:
        install_tool(desk, script)
        for name in ("PATH", LIBRARY):
            monkeypatch.setenv(name, desk.env[name])
        used.append(open_devices(1.0))
        return used[-1]

    yield started
    for each in used:
        each.close()


def await_readings(cards: devices.Devices) -> list[Reading]:
    found: list[Reading] = []
    await_that(lambda: bool(found.extend(cards.read()) or found))
    return found


def test_without_the_library_one_child_goes_on_telling(
    desk: Desk, started: Callable[[str], devices.Devices]
) -> None:
    cards = started(f'echo "$@" >> {desk.folder}/asked\n' + ROUNDS)
    first = await_readings(cards)
    assert first[0] == Reading(0, 1000 * MIB, 37.0, 70.12, None)
    await_that(lambda: Reading(1, None, None, None, None) in cards.read())
    assert (cards.read_by, cards.why) == ("nvidia-smi", None)
    asked = (desk.folder / "asked").read_text()
    assert asked == (
        "--query-gpu=index,memory.used,utilization.gpu,power.draw"
        " --format=csv,noheader --loop-ms=1000\n"
    )


def test_only_the_newest_whole_row_of_each_card_is_a_reading(
    desk: Desk, started: Callable[[str], devices.Devices]
) -> None:
    os.mkfifo(desk.folder / "go")
    cards = started(
        'echo "0, 1 MiB, 1 %, 1 W"; echo "0, 2 MiB, 2 %, 2 W"; printf "0, 3 MiB, 3"\n'
        f'touch {desk.folder}/said; read go < {desk.folder}/go; echo " %, 3 W"; sleep 60\n'
    )
    await_that(lambda: (desk.folder / "said").exists())
    assert cards.read() == [Reading(0, 2 * MIB, 2.0, 2.0, None)]
    # what was told once is not told again
    assert cards.read() == []
    (desk.folder / "go").write_text("\n")
    assert await_readings(cards) == [Reading(0, 3 * MIB, 3.0, 3.0, None)]


def test_a_tool_that_fails_is_a_reason(started: Callable[[str], devices.Devices]) -> None:
    cards = started("echo 'No devices were found'; exit 6\n")
    await_that(lambda: cards.read() == [] and cards.read_by is None)
    assert cards.why == "nvidia-smi failed: No devices were found"


def test_a_tool_that_ends_midway_leaves_what_it_told(
    started: Callable[[str], devices.Devices],
) -> None:
    cards = started("echo '0, 1000 MiB, 37 %, 70.12 W'\n")
    assert len(await_readings(cards)) == 1
    await_that(lambda: cards.read() == [] and cards.why is not None)
    assert (cards.read_by, cards.why) == ("nvidia-smi", "nvidia-smi failed: it ended")


def test_a_tool_that_is_no_program_is_a_reason(
    desk: Desk, started: Callable[[str], devices.Devices]
) -> None:
    cards = started("")
    cards.close()
    (desk.folder / "bin" / "nvidia-smi").write_bytes(b"\x7fELF, but not really")
    cards = open_devices(1.0)
    assert (cards.read(), cards.read_by) == ([], None)
    assert cards.why == "nvidia-smi could not be started (OSError)"


def test_a_tool_that_says_nothing_delays_nothing_and_is_ended(
    desk: Desk, started: Callable[[str], devices.Devices]
) -> None:
    began = time.monotonic()
    cards = started(f"sleep 600 & echo $! > {desk.folder}/pid; wait\n")
    assert cards.read() == []
    assert time.monotonic() - began < 1
    await_that(lambda: bool(read_pid(desk)))
    assert alive(read_pid(desk))
    cards.close()
    await_that(lambda: not alive(read_pid(desk)))


def test_the_tool_ends_with_a_probe_that_is_killed(desk: Desk) -> None:
    install_tool(desk, f"echo $$ > {desk.folder}/pid; exec sleep 600\n")
    code = (
        "import time\n"
        "from budget.probe.devices import open_devices\n"
        "cards = open_devices(1.0)\n"
        "time.sleep(600)\n"
    )
    probe = subprocess.Popen([sys.executable, "-c", code], cwd=desk.folder, env=desk.env)
    await_that(lambda: bool(read_pid(desk)))
    child = read_pid(desk)
    assert alive(child)
    # another group and another session than the probe's: no key on its terminal reaches it
    assert os.getpgid(child) == os.getsid(child) == child
    probe.kill()
    probe.wait()
    await_that(lambda: not alive(child))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_tool_takes_signals_and_has_no_stream_of_the_terminal(desk: Desk) -> None:
    install_tool(
        desk,
        f"cat /proc/self/status > {desk.folder}/status; readlink /proc/$$/fd/0 > {desk.folder}/in\n"
        f"touch {desk.folder}/said; sleep 60\n",
    )
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        loop = Loop(str(desk.folder / "bin" / "nvidia-smi"), 1.0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    await_that(lambda: (desk.folder / "said").exists())
    loop.close()
    status = (desk.folder / "status").read_text()
    assert "SigBlk:\t0000000000000000\n" in status
    assert (desk.folder / "in").read_text() == "/dev/null\n"


def test_a_flood_without_lines_takes_no_memory(
    started: Callable[[str], devices.Devices],
) -> None:
    cards = started("head -c 300000 /dev/zero; echo; echo '0, 1 MiB, 1 %, 1 W'; sleep 60\n")
    assert await_readings(cards) == [Reading(0, MIB, 1.0, 1.0, None)]
    assert isinstance(cards, devices._ByTool)
    assert cards._loop is not None
    assert len(cards._loop._rest) <= smi.LONGEST_LINE_BYTES


def read_pid(desk: Desk) -> int:
    path = desk.folder / "pid"
    return int(path.read_text() or 0) if path.exists() else 0


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return not state.stdout.startswith("Z") and state.stdout.strip() != ""
