"""Programs that fork, spawn, start threads, fail, and end in every way there is."""

from __future__ import annotations

import signal
import sys
import time
from typing import Any

import pytest

from tests.probe import stand_in_vllm
from tests.probe.desk import PATIENCE_S, Desk, await_that

BEGINS = "import os, signal, sys, time\nfrom vllm import LLM\nmodel = LLM('m')\n"


@pytest.fixture
def engine(desk: Desk) -> Desk:
    """A desk at which the stand-in library lies."""
    stand_in_vllm.put(desk.folder)
    return desk


def of_programs(desk: Desk, event: str) -> list[dict[str, Any]]:
    """Records that were written from inside."""
    mother = desk.only("attempt.start")["pid"]
    return [record for record in desk.records(event) if record["pid"] != mother]


def phases(desk: Desk) -> dict[int, list[str]]:
    """Ended phases by process, in the order of the processes' first record."""
    found: dict[int, list[str]] = {}
    for record in of_programs(desk, "phase.end"):
        found.setdefault(record["pid"], []).append(record["phase"])
    return found


def test_a_forked_child_writes_its_own_file_and_nothing_of_its_parent(engine: Desk) -> None:
    code = BEGINS + (
        "model.generate(['a'])\n"
        "if os.fork() == 0:\n"
        "    model.generate(['bc'])\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "model.generate(['def'])\n"
    )
    assert engine.python(code).returncode == 0
    mother, child = phases(engine).items()
    assert mother[1] == ["prepare", "load", "run"] or child[1] == ["prepare", "load", "run"]
    assert sorted([mother[1], child[1]]) == [["prepare", "load", "run"], ["run"]]
    calls = of_programs(engine, "call")
    assert [call["input_tokens"] for call in calls] == [1, 2, 3]
    assert calls[0]["pid"] == calls[2]["pid"] != calls[1]["pid"]


def test_a_child_that_loads_for_itself_is_prepared_from_its_fork_on(engine: Desk) -> None:
    code = (
        "import os, time\nfrom vllm import LLM\ntime.sleep(0.3)\n"
        "if os.fork() == 0:\n"
        "    time.sleep(0.1)\n"
        "    LLM('m').generate(['a'])\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    assert engine.python(code).returncode == 0
    prepare, _, _ = of_programs(engine, "phase.end")
    assert prepare["phase"] == "prepare"
    assert 0.1 <= prepare["duration_s"] < 0.2


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_workers_are_measured_and_helpers_write_nothing(engine: Desk, method: str) -> None:
    (engine.folder / "program.py").write_text(
        "import multiprocessing, sys\n"
        "from vllm import LLM\n"
        "def work(name):\n"
        "    return LLM(name).generate(['abc'])[0].outputs[0].token_ids\n"
        "if __name__ == '__main__':\n"
        f"    context = multiprocessing.get_context('{method}')\n"
        "    with context.Pool(2) as pool:\n"
        "        print(pool.map(work, ['a', 'b'], chunksize=1))\n"
        "        pool.close(); pool.join()\n",
        encoding="utf-8",
    )
    done = engine.run(sys.executable, "program.py")
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(of_programs(engine, "call")) == 2
    for names in phases(engine).values():
        assert names[0] == "prepare"
        assert names.count("run") <= 1
    # the probe's file, and one of each worker that had something to do
    files = len(engine.records("session.start"))
    assert 2 <= files <= 3
    assert files == 1 + len(phases(engine))


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit(0)",
        "os._exit(0)",
        "os.execv('/bin/true', ['true'])",
        "os.execvpe('true', ['true'], {'PATH': '/nowhere:/bin'})",
        "raise SystemExit",
    ],
)
def test_the_run_has_an_end_however_the_program_ends(engine: Desk, ending: str) -> None:
    code = BEGINS + f"model.generate(['a'])\ntime.sleep(0.1)\n{ending}\n"
    done = engine.python(code)
    assert (done.returncode, done.stderr) == (0, b"")
    run = of_programs(engine, "phase.end")[-1]
    assert (run["phase"], run["outcome"]) == ("run", "ok")
    # the pause after the last call does not belong to it
    assert 0.05 <= run["duration_s"] < 0.1


def test_a_program_that_cannot_become_another_goes_on(engine: Desk) -> None:
    code = BEGINS + (
        "model.generate(['a'])\n"
        "try:\n    os.execv('/not/there', ['x'])\n"
        "except OSError as problem:\n    print(problem.errno)\n"
        "model.generate(['a'])\n"
    )
    assert engine.python(code).stdout == b"2\n"
    assert list(phases(engine).values()) == [["prepare", "load", "run", "run"]]


def test_a_program_that_becomes_itself_again_is_prepared_from_there(engine: Desk) -> None:
    code = BEGINS + (
        "model.generate(['a'])\n"
        "if len(sys.argv) < 2:\n"
        "    time.sleep(0.3)\n"
        "    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], 'again'])\n"
    )
    assert engine.python(code).returncode == 0
    ends = of_programs(engine, "phase.end")
    assert [end["phase"] for end in ends] == ["prepare", "load", "run"] * 2
    assert ends[3]["duration_s"] < 0.3
    assert len({end["pid"] for end in ends}) == 1
    assert len(of_programs(engine, "session.start")) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_program_keeps_its_calls_and_an_open_run(
    engine: Desk, number: signal.Signals
) -> None:
    code = BEGINS + f"model.generate(['a'])\nos.kill(os.getpid(), {int(number)})\n"
    assert engine.python(code).returncode == -number
    assert list(phases(engine).values()) == [["prepare", "load"]]
    assert of_programs(engine, "phase.start")[-1]["phase"] == "run"
    assert len(of_programs(engine, "call")) == 1


def test_a_program_killed_while_it_loads_has_an_open_load(engine: Desk) -> None:
    with engine.start("run", "--", sys.executable, "-c", BEGINS.replace("'m'", "'m', 30")) as probe:
        await_that(
            lambda: (
                engine.logs.exists()
                and [start["phase"] for start in engine.records("phase.start")]
                == ["prepare", "load"]
            )
        )
        probe.send_signal(signal.SIGTERM)
    assert list(phases(engine).values()) == [["prepare"]]


def test_sigterm_ends_a_program_at_once_and_its_own_handler_is_its_own(engine: Desk) -> None:
    code = BEGINS + "print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)\n"
    assert engine.python(code).stdout == b"True\n"


def test_an_interrupt_ends_the_run_and_is_no_error(engine: Desk) -> None:
    code = BEGINS + "model.generate(['a'])\nsignal.raise_signal(signal.SIGINT)\n"
    assert engine.python(code).returncode == -signal.SIGINT
    assert list(phases(engine).values()) == [["prepare", "load", "run"]]
    assert of_programs(engine, "error") == []


def test_threads_load_at_the_same_time_and_the_load_is_their_union(engine: Desk) -> None:
    code = (
        "import threading, time\nfrom vllm import LLM\n"
        "def work(wait):\n"
        "    time.sleep(wait)\n"
        "    model = LLM('m', 0.3)\n"
        "    time.sleep(0.4 - wait)\n"
        "    model.generate(['ab'], run_s=0.2)\n"
        "threads = [threading.Thread(target=work, args=(w,)) for w in (0, 0.1, 0.2)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
    )
    assert engine.python(code).returncode == 0
    _, load, run = of_programs(engine, "phase.end")
    # loads from 0 to 0.3, 0.1 to 0.4 and 0.2 to 0.5 s; each generates from 0.7 to 0.9 s
    assert 0.5 <= load["duration_s"] < 0.6
    assert 0.2 <= run["duration_s"] < 0.3
    assert len(of_programs(engine, "call")) == 3


def test_an_error_that_ends_the_program_is_written_once_with_its_cause(engine: Desk) -> None:
    done = engine.python(BEGINS + "model.generate(['a'])\nmodel.generate(['a'] * 5)\n")
    assert done.returncode == 1
    assert done.stderr.endswith(b"of which 1.20 GiB is free.\n")
    error = engine.only("error")
    assert (error["layer"], error["phase"], error["kind"]) == ("hook", "run", "RuntimeError")
    assert error["cause"] == "gpu-out-of-memory"
    assert error["line"].startswith("CUDA out of memory. Tried to allocate 2.00 GiB.")
    assert error["signature"].startswith(
        "RuntimeError: CUDA out of memory. Tried to allocate # GiB"
    )
    assert [end["outcome"] for end in of_programs(engine, "phase.end")] == ["ok", "ok", "failed"]
    assert len(of_programs(engine, "call")) == 1


def test_an_error_that_is_caught_and_what_changed_after_it(engine: Desk) -> None:
    code = BEGINS + (
        "from types import SimpleNamespace as Sampling\n"
        "for size, tokens in ((5, 64), (5, 64), (2, 32), (2, 32)):\n"
        "    try:\n"
        "        model.generate(['a'] * size, Sampling(max_tokens=tokens))\n"
        "    except RuntimeError:\n"
        "        pass\n"
    )
    assert engine.python(code).returncode == 0
    assert len(engine.records("error")) == 2
    changes = {change["what"]: change for change in engine.records("change")}
    assert set(changes) == {"max_tokens", "batch_size"}
    change = changes["batch_size"]
    assert (change["from"], change["to"], change["kind"]) == ("5", "2", "parameter")
    assert (change["layer"], change["reason"]) == ("hook", "after RuntimeError")
    assert (changes["max_tokens"]["from"], changes["max_tokens"]["to"]) == ("64", "32")
    run = of_programs(engine, "phase.end")[-1]
    assert (run["phase"], run["outcome"]) == ("run", "ok")


def test_equal_errors_and_changes_are_not_written_for_ever(engine: Desk) -> None:
    code = BEGINS + (
        "from types import SimpleNamespace as Sampling\n"
        "for size in [5, 1] * 40:\n"
        "    try:\n"
        "        model.generate(['a'] * size, Sampling(max_tokens=size), run_s=0)\n"
        "    except RuntimeError:\n"
        "        pass\n"
    )
    assert engine.python(code).returncode == 0
    assert len(engine.records("error")) == 20
    assert len(engine.records("change")) == 20
    assert len(engine.records("call")) == 40


def test_a_smaller_last_batch_is_no_change_and_a_batch_that_stays_smaller_is(
    engine: Desk,
) -> None:
    code = (
        BEGINS
        + "for size in (4, 4, 3, 4, 4, 2, 2, 2):\n    model.generate(['a'] * size, run_s=0)\n"
    )
    assert engine.python(code).returncode == 0
    change = engine.only("change")
    assert (change["what"], change["from"], change["to"]) == ("batch_size", "4", "2")
    assert change["reason"] == "seen between two calls"


def test_a_failed_load_is_a_failed_phase(engine: Desk) -> None:
    done = engine.python(BEGINS.replace("'m'", "'missing'"))
    assert done.returncode == 1
    assert b"OSError: no such model: /srv/models/missing" in done.stderr
    assert [end["outcome"] for end in of_programs(engine, "phase.end")] == ["ok", "failed"]
    error = engine.only("error")
    assert (error["phase"], error["message"]) == ("load", "no such model: …/missing")


def test_an_error_of_a_program_that_uses_no_watched_library(desk: Desk) -> None:
    assert desk.python("import transformer_s").returncode == 1
    error = desk.only("error")
    assert (error["kind"], error["cause"]) == ("ModuleNotFoundError", "dependency-missing")
    assert "phase" not in error
    assert desk.only("attempt.end")["hook"] == "loaded"


def test_an_error_of_a_program_that_a_shell_starts_counts_one_of_a_helper_does_not(
    desk: Desk,
) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import transformer_s'])"
    desk.python(code)
    assert desk.records("error") == []
    desk.run("sh", "-c", f"{sys.executable} -c 'import transformer_s'; exit 1")
    assert desk.only("error")["kind"] == "ModuleNotFoundError"


def test_an_error_in_a_thread_is_recorded_and_shown(engine: Desk) -> None:
    code = BEGINS + (
        "import threading\n"
        "def work():\n    raise ValueError('no 17')\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join()\n"
    )
    done = engine.python(code)
    assert done.returncode == 0
    assert done.stderr.startswith(b"Exception in thread Thread-1")
    assert done.stderr.endswith(b"ValueError: no 17\n")
    error = engine.only("error")
    assert (error["signature"], error["layer"]) == ("ValueError: no #", "hook")


def test_a_traceback_passes_through_one_more_line_only(engine: Desk) -> None:
    done = engine.python(BEGINS + "model.generate(['a'] * 5)\n")
    frames = [line for line in done.stderr.splitlines() if line.startswith(b"  File ")]
    assert [line.rsplit(b" in ", 1)[1] for line in frames] == [
        b"<module>",
        b"generate",
        b"generate",
    ]


def test_a_second_load_within_the_run_is_a_phase_within_it(engine: Desk) -> None:
    code = BEGINS + "model.generate(['a'])\nother = LLM('n')\nother.generate(['a'])\nLLM('o')\n"
    assert engine.python(code).returncode == 0
    assert list(phases(engine).values()) == [["prepare", "load", "load", "run", "load"]]
    run = of_programs(engine, "phase.end")[3]
    # 0.05 s, a load of 0.1 s, 0.05 s; the last load comes after it
    assert 0.2 <= run["duration_s"] < 0.25


def test_the_parents_clock_shows_the_same_time(engine: Desk) -> None:
    began = time.monotonic_ns()
    engine.python(BEGINS + "model.generate(['a'])\n")
    ended = time.monotonic_ns()
    for record in of_programs(engine, "phase.end") + of_programs(engine, "call"):
        assert began < record["mono_ns"] < ended
    moments = [record["mono_ns"] for record in engine.records()]
    assert moments == sorted(moments)


def test_a_watched_program_that_is_interrupted_ends_by_that_signal(desk: Desk) -> None:
    """Python forgets an interrupt where a named tuple is defined after it; ours must not be."""
    code = (
        "import time, torch\n"
        "torch.save({}, 'weights.pt')\n"
        "torch.load('weights.pt')\n"
        "open('ready', 'w').close()\n"
        "time.sleep(30)\n"
    )
    process = desk.start("run", "--", sys.executable, "-c", code, start_new_session=True)
    await_that((desk.folder / "ready").exists)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGINT
    assert desk.only("attempt.end")["hook"] == "loaded"
    assert [record["phase"] for record in desk.records("phase.end")][-1] == "load"
    assert not desk.records("error")
