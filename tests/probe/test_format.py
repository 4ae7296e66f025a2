"""The log is what LOG.md says; the probe needs nothing but Python 3.8."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import vermin

from budget.probe import log
from tests.probe.desk import ROOT, Desk

FOLDER = ROOT / "budget" / "probe"
PROGRAM = """
import sys, types
torch = types.ModuleType("torch")
torch.__version__ = "2.9.0"
sys.modules["torch"] = torch
from budget.probe import call, phase, result
result("accuracy", 71.2)
call(duration_s=1)
with phase("run"):
    call(duration_s=1)
    result("accuracy", 71.2)
    raise ValueError("x")
"""
# the names in these objects are the user's or the host's own
FREE = ("condition.parameters", "libraries", "scheduler")


def documented() -> list[tuple[set[str], set[str]]]:
    """The tables of LOG.md: the events that one is about, and its keys."""
    tables: list[tuple[set[str], set[str]]] = []
    for line in (FOLDER / "LOG.md").read_text(encoding="utf-8").splitlines():
        heading = re.fullmatch(r"#{2,3} (.+)", line)
        if heading:
            if heading[1] == "Version history":
                break
            events = {
                "Every record": set(log.EVENTS),
                "Memory": {"attempt.end", "phase.end"},
            }.get(heading[1], set(heading[1].split(", ")))
            tables.append((events, set()))
        row = re.match(r"\| `([\w.]+)` \|", line)
        if row:
            tables[-1][1].add(row[1])
    return tables


def written(value: object, path: str = "") -> set[str]:
    """The paths of all keys in a record."""
    if isinstance(value, list):
        return set().union(*(written(item, path) for item in value))
    if not isinstance(value, dict) or path in FREE:
        return set()
    found = set()
    for key, item in value.items():
        below = f"{path}.{key}" if path else key
        found |= {below} | written(item, below)
    return found


def test_every_key_of_every_event_really_written_is_documented(desk: Desk) -> None:
    tool = desk.folder / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho '0, H100, GPU-1, 81559 MiB, 9.0, 550.54'\n")
    tool.chmod(0o755)
    desk.env.update(PATH=f"{tool.parent}:{desk.env['PATH']}", RANK="0", SLURM_JOB_ID="7")
    desk.probe("wait", "other")
    desk.probe("resume")
    desk.python(PROGRAM)
    desk.probe("note", "x")
    desk.probe(
        *("change", "--kind", "code", "--what", "w", "--from", "a", "--to", "b", "--reason", "r")
    )
    desk.run("sleep", "0.3")
    desk.probe("end")
    seen: dict[str, set[str]] = {}
    for record in desk.records():
        seen.setdefault(record["event"], set()).update(written(record))
    tables = documented()
    assert set(seen) == set(log.EVENTS)
    assert set().union(*(events for events, _ in tables)) == set(log.EVENTS)
    for event, names in seen.items():
        assert names <= set().union(*(keys for events, keys in tables if event in events)), event
    for events, keys in tables:
        assert keys <= set().union(*(seen[event] for event in events)), events


def test_the_version_in_the_documentation_is_the_one_written() -> None:
    text = (FOLDER / "LOG.md").read_text(encoding="utf-8")
    assert f"| `{log.SCHEMA}` |" in text.split("## Version history")[1]


def test_every_record_has_the_common_keys(desk: Desk) -> None:
    desk.python(PROGRAM)
    for record in desk.records():
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", record["t"])
        assert list(record)[:5] == ["event", "t", "mono_ns", "session", "pid"]


def test_an_argument_that_is_no_text_is_logged_all_the_same(desk: Desk) -> None:
    assert desk.run("true", b"\xff\xfe".decode("utf-8", "surrogateescape")).returncode == 0
    assert len(desk.only("attempt.start")["argv"]) == 2


def test_a_record_after_a_torn_one_begins_on_its_own_line(tmp_path: Path) -> None:
    writer = log.Log(str(tmp_path), "s", {})
    writer.write("note", {"text": "a"})
    writer._torn = True
    writer.write("note", {"text": "b"})
    (path,) = tmp_path.iterdir()
    assert [json.loads(line)["event"] for line in path.read_text().split("\n") if line] == [
        "session.start",
        "note",
        "note",
    ]
    assert len(log.read(str(path))) == 3


def test_the_probe_runs_on_python_3_8() -> None:
    config = vermin.Config()
    for path in FOLDER.glob("*.py"):
        source = path.read_text(encoding="utf-8")
        ast.parse(source, feature_version=(3, 8))
        visitor = vermin.visit(source, config)
        minimum = visitor.minimum_versions()
        assert minimum[1] is not None
        assert minimum[1] <= (3, 8), path.name


def test_the_probe_imports_the_standard_library_alone() -> None:
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level <= 1, path.name
                names = [node.module or ""] if node.level == 0 else []
            else:
                continue
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names, (path.name, name)
