"""What the probe can tell of an end that nothing inside the command saw."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from budget.probe import cgroup, hello, outside
from budget.probe.course import Course

RUN = Course(0, None, "ok", False, False, 1.0, 0, [])


def test_a_kill_while_the_system_killed_for_memory_is_out_of_memory() -> None:
    course = RUN._replace(exit_code=None, signal=signal.SIGKILL, outcome="interrupted")
    error = outside.ended(course, None, oom_kills=1)
    assert error is not None
    assert error["kind"] == "killed"
    assert error["cause"] == "host-memory-killer"
    assert outside.ended(course, None, oom_kills=0)["cause"] == "killed"  # type: ignore[index]


def test_a_shell_that_reports_a_killed_child_counts_only_with_the_systems_word() -> None:
    """137 = 128 + 9: the shell's own child was killed; the code alone does not show by whom."""
    course = RUN._replace(exit_code=137, outcome="failed")
    assert outside.ended(course, None, oom_kills=0) is None
    error = outside.ended(course, None, oom_kills=2)
    assert error is not None
    assert error["cause"] == "host-memory-killer"


def test_a_crash_is_named_by_its_signal() -> None:
    course = RUN._replace(exit_code=None, signal=signal.SIGSEGV, outcome="failed")
    error = outside.ended(course, None, oom_kills=0)
    assert error is not None
    assert error["message"] == "killed by SIGSEGV"


@pytest.mark.parametrize("code", [1, 130, 255])
def test_a_command_that_failed_by_itself_says_why_itself(code: int) -> None:
    assert outside.ended(RUN._replace(exit_code=code, outcome="failed"), None, 0) is None


def test_kills_are_counted_in_both_versions_of_control_groups(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    second = tmp_path / "second" / "job"
    second.mkdir(parents=True)
    (second / "memory.events").write_text("low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
    own.write_text("0::/job\n")
    assert cgroup.oom_kills(str(tmp_path / "second"), str(own)) == 2
    first = tmp_path / "first" / "memory" / "job"
    first.mkdir(parents=True)
    (first / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n")
    own.write_text("12:cpu:/job\n4:memory:/job\n")
    assert cgroup.oom_kills(str(tmp_path / "first"), str(own)) == 5


def test_a_container_counts_at_the_root(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("oom_kill 1\n")
    own = tmp_path / "cgroup"
    own.write_text("0::/../../somewhere\n")
    assert cgroup.oom_kills(str(tmp_path), str(own)) == 1


def test_without_a_count_there_is_none_and_not_zero(tmp_path: Path) -> None:
    assert cgroup.oom_kills(str(tmp_path), str(tmp_path / "missing")) is None


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["docker", "run", "image"], "docker runs the program in an environment of its own"),
        (["ssh", "host", "python"], "ssh runs the program elsewhere"),
        (["env", "-i", "python", "x.py"], "env -i takes PYTHONPATH away"),
        (["python3", "-I", "x.py"], "python -I isolates itself"),
        (["python3", "-uE", "x.py"], "python -E ignores PYTHONPATH"),
        (["python3", "-X", "dev", "x.py"], "this Python did not load it"),
        (["python3", "x.py", "-I"], "this Python did not load it"),
        (["./run.sh"], "no Python process of the command loaded it"),
    ],
)
def test_why_the_hook_did_not_load_is_told_as_far_as_it_can_be(
    tmp_path: Path, command: list[str], why: str
) -> None:
    assert hello.answer(str(tmp_path / "no"), command) == (hello.NOT_LOADED, why)


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("4 started\n", "idle"),
        ("4 started\n4 recorded\n", "loaded"),
        ("4 started\n4 probe\n", "not-loaded"),
        ("4 started\n4 probe\n5 started\n5 recorded\n", "loaded"),
        ("", "not-loaded"),
    ],
)
def test_what_the_processes_said_tells_whether_the_hook_loaded(
    tmp_path: Path, said: str, state: str
) -> None:
    path = tmp_path / "hello"
    path.write_text(said)
    assert hello.answer(str(path), ["./run.sh"]).state == state


def test_the_search_path_of_the_command_stays_behind_the_hook() -> None:
    set_ = hello.variables("h", {"PYTHONPATH": "/a::/b"})["PYTHONPATH"]
    assert set_ == f"{hello.HOOK}:/a::/b"
    assert hello.variables("h", {})["PYTHONPATH"] == hello.HOOK
    assert hello.without_hook({"PYTHONPATH": set_}) == {"PYTHONPATH": "/a::/b"}
    assert hello.without_hook({"PYTHONPATH": "/a"}) == {}
