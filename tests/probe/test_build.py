"""The one file to copy: built the same each time, and run by any Python anywhere."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from budget.probe import build
from tests.probe.desk import ROOT


def _installed(version: str) -> str | None:
    pyenv = Path(os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))) / "versions"
    found = [*pyenv.glob(f"{version}.*/bin/python{version}"), Path(f"/usr/bin/python{version}")]
    return next((str(path) for path in found if path.exists()), None)


def _of_those_installed(*versions: str) -> list[str]:
    # this one is always there: a table of tests must not be empty
    own = "{}.{}".format(*sys.version_info[:2])
    return [version for version in versions if version == own or _installed(version)]


OLD_PYTHONS = [version for version in ("2.7", "3.5", "3.6", "3.7") if _installed(version)]
PYTHONS = _of_those_installed("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")


class Copied:
    """The file where a person copied it to, and a home folder that is not this one."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.file = folder / "copied" / "probe.pyz"
        self.home = folder / "home"
        self.work = folder / "work"
        for made in (self.file.parent, self.home, self.work):
            made.mkdir()
        build.build(str(self.file))

    @property
    def cache(self) -> Path:
        """Where its parts are unpacked."""
        return self.home / ".cache" / "compute-budget-probe"

    def run(
        self, *words: str, flags: tuple[str, ...] = (), python: str = sys.executable, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it with nothing of this environment but the path."""
        return subprocess.run(
            [python, *flags, str(self.file), *words],
            cwd=self.work,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), **env},
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture
def copied(tmp_path: Path) -> Copied:
    """A copy of the file."""
    return Copied(tmp_path)


def test_two_builds_are_equal_byte_for_byte(tmp_path: Path) -> None:
    first, second = tmp_path / "a.pyz", tmp_path / "b.pyz"
    build.build(str(first))
    os.environ["TZ"], before = "Asia/Tokyo", os.environ.get("TZ")
    try:
        build.build(str(second))
    finally:
        os.environ.pop("TZ")
        if before is not None:
            os.environ["TZ"] = before
    assert first.read_bytes() == second.read_bytes() == build.archive()


def test_it_holds_the_sources_in_a_form_that_a_person_can_read(copied: Copied) -> None:
    with zipfile.ZipFile(copied.file) as parts:
        names = parts.namelist()
        assert names == sorted(names)
        assert parts.read("budget/__init__.py") == b""
        for name in ("cli.py", "causes.py", "LOG.md", "__init__.py"):
            content = (ROOT / "budget" / "probe" / name).read_bytes()
            assert parts.read(f"budget/probe/{name}") == content
            # stored as it is: a text viewer shows it
            assert content in copied.file.read_bytes()
        on_disk = {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / "budget" / "probe").rglob("*")
            if path.suffix in (".py", ".md") and "__pycache__" not in path.parts
        }
        assert set(names) == on_disk | {"__main__.py", "budget/__init__.py"}


def test_it_can_be_started_by_itself(copied: Copied) -> None:
    assert copied.file.stat().st_mode & stat.S_IXUSR
    assert copied.file.read_bytes().startswith(b"#!/usr/bin/env python3\n")


@pytest.mark.parametrize("flags", [(), ("-I",), ("-S", "-E", "-s")])
def test_it_runs_from_another_folder_with_an_empty_environment(
    copied: Copied, flags: tuple[str, ...]
) -> None:
    done = subprocess.run(
        ["env", "-i", sys.executable, *flags, str(copied.file), "note", "x"],
        cwd=copied.work,
        capture_output=True,
        text=True,
        timeout=60,
        env={"HOME": str(copied.home)},
    )
    assert done.returncode == 0, done.stderr
    (log,) = (copied.work / "compute-budget-logs").glob("*.jsonl")
    assert '"event":"note"' in log.read_text()


def test_it_keeps_the_exit_code_of_what_it_runs(copied: Copied) -> None:
    done = copied.run("run", "--block", "b", "--", "sh", "-c", "exit 7")
    assert (done.returncode, done.stdout) == (7, "")


def test_its_parts_are_unpacked_once_and_kept_compiled(copied: Copied) -> None:
    copied.run("note", "x")
    (unpacked,) = copied.cache.iterdir()
    compiled = list(unpacked.glob("budget/probe/__pycache__/cli.*.pyc"))
    assert len(compiled) == 1
    before = compiled[0].stat().st_mtime_ns
    # containers often switch this off for the programs in them
    assert copied.run("note", "x", PYTHONDONTWRITEBYTECODE="1").returncode == 0
    assert compiled[0].stat().st_mtime_ns == before
    assert list(copied.cache.iterdir()) == [unpacked]


def test_another_version_has_a_folder_of_its_own(
    copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied.run("note", "x")
    monkeypatch.setattr(build, "MAIN", build.MAIN + b"# changed\n")
    build.build(str(copied.file))
    copied.run("note", "x")
    assert len(list(copied.cache.iterdir())) == 2


def _no_folder(copied: Copied) -> dict[str, str]:
    return {"XDG_CACHE_HOME": "/dev/null/x"}


def _writable_by_all(copied: Copied) -> dict[str, str]:
    copied.run("note", "x")
    (unpacked,) = copied.cache.iterdir()
    (unpacked / "budget" / "probe" / "cli.py").write_text("raise SystemExit(99)")
    unpacked.chmod(0o777)
    return {}


def _without_a_part(copied: Copied) -> dict[str, str]:
    copied.run("note", "x")
    (unpacked,) = copied.cache.iterdir()
    for path in unpacked.rglob("log.*"):
        path.unlink()
    return {}


@pytest.mark.parametrize("spoil", [_no_folder, _writable_by_all, _without_a_part])
def test_a_cache_that_cannot_be_used_is_done_without(
    copied: Copied, spoil: Callable[[Copied], dict[str, str]]
) -> None:
    env = spoil(copied)
    done = copied.run("run", "--block", "b", "--", "sh", "-c", "exit 7", **env)
    assert (done.returncode, done.stderr) == (7, "")


def test_many_first_starts_at_once_do_not_disturb_each_other(copied: Copied) -> None:
    command = [sys.executable, str(copied.file), "note", "x"]
    env = {"PATH": os.environ["PATH"], "HOME": str(copied.home)}
    started = [subprocess.Popen(command, cwd=copied.work, env=env) for _ in range(6)]
    assert [process.wait(60) for process in started] == [0] * 6
    assert len(list(copied.cache.iterdir())) == 1


@pytest.mark.parametrize("cache", ["", "/dev/null/x"])
def test_its_hook_is_found_by_the_measured_python(copied: Copied, cache: str) -> None:
    # with the parts unpacked, and from within the archive
    done = copied.run(
        *("run", "--block", "b", "--", sys.executable, "-c", "print(7)"), XDG_CACHE_HOME=cache
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")
    logs = "".join(path.read_text() for path in copied.work.rglob("*.jsonl"))
    assert '"hook":"idle"' in logs


@pytest.mark.parametrize("cache", ["", "/dev/null/x"])
def test_the_built_file_builds_itself(copied: Copied, cache: str) -> None:
    # with the parts unpacked, and from within the archive
    root = str(copied.file)
    if not cache:
        copied.run("note", "x")
        root = str(next(copied.cache.iterdir()))
    code = "from budget.probe import build; build.build('again.pyz')"
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=copied.work,
        env={"PYTHONPATH": root},
        check=True,
        timeout=60,
    )
    assert (copied.work / "again.pyz").read_bytes() == copied.file.read_bytes()


def test_its_entry_is_read_by_every_python() -> None:
    # no newer syntax than that of 3.4 and no character beyond ASCII, which 2.7 refuses; 2.7 itself
    # reads it below where it is installed
    ast.parse(build.MAIN, feature_version=(3, 4))
    assert build.MAIN.isascii()
    assert b'f"' not in build.MAIN


def test_a_python_that_is_too_old_says_so_in_one_sentence(copied: Copied) -> None:
    for version in OLD_PYTHONS:
        done = copied.run("note", "x", python=_installed(version))
        assert (done.returncode, done.stdout) == (2, "")
        said = f"compute-budget probe: this is Python {version} and the probe"
        assert done.stderr.startswith(said)
        assert done.stderr.count("\n") == 1


def test_the_sentence_is_said_by_a_python_that_only_claims_to_be_old(copied: Copied) -> None:
    entry = copied.folder / "entry.py"
    entry.write_bytes(b"import sys\nsys.version_info = (3, 7, 9)\n" + build.MAIN)
    done = subprocess.run([sys.executable, str(entry)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "this is Python 3.7 and the probe needs 3.8 or newer" in done.stderr


@pytest.mark.parametrize("version", PYTHONS)
def test_it_runs_on_every_python_that_is_installed_here(copied: Copied, version: str) -> None:
    python = _installed(version) or sys.executable
    done = copied.run("run", "--block", "b", "--", "sh", "-c", "exit 7", python=python)
    assert (done.returncode, done.stderr) == (7, "")


def test_a_file_in_its_place_is_replaced_and_a_folder_that_is_missing_is_an_error(
    tmp_path: Path,
) -> None:
    target = tmp_path / "probe.pyz"
    target.write_text("old")
    assert build.build(str(target)) == str(target)
    assert zipfile.is_zipfile(target)
    assert os.listdir(tmp_path) == ["probe.pyz"]
    with pytest.raises(OSError, match="No such file"):
        build.build(str(tmp_path / "missing" / "probe.pyz"))
