"""The log is what LOG.md says; the probe needs nothing but Python 3.8."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import pytest
import vermin

from budget.probe import log
from tests.probe.desk import ROOT, Desk
from tests.probe.standin import build_library

FOLDER = ROOT / "budget" / "probe"
SOURCES = sorted(FOLDER.rglob("*.py"))
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
# no API in it: the hook watches what an unmodified program does with a library
UNMODIFIED = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM
sizes = {"vocab_size": 32, "hidden_size": 8, "intermediate_size": 8}
heads = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2}
LlamaForCausalLM(LlamaConfig(**sizes, **heads)).save_pretrained("tiny")
model = LlamaForCausalLM.from_pretrained("tiny")
for batch in (4, 2, 2):
    tokens = torch.ones((batch, 3), dtype=torch.long)
    model.generate(tokens, attention_mask=tokens, max_new_tokens=2, pad_token_id=0)
model(tokens)
"""
# the names in these objects are the user's or the host's own
FREE = ("condition.parameters", "libraries", "scheduler", "expected", "variables")


def documented() -> list[tuple[set[str], set[str]]]:
    """The tables of LOG.md: the events that one is about, and its keys."""
    tables: list[tuple[set[str], set[str]]] = []
    for line in (FOLDER / "LOG.md").read_text(encoding="utf-8").splitlines():
        heading = re.fullmatch(r"#{2,3} (.+)", line)
        if heading:
            if heading[1] == "Version history":
                break
            if heading[1] == "Causes":
                continue
            events = {
                "Every record": set(log.EVENTS),
                "Memory": {"attempt.end", "phase.end"},
            }.get(heading[1], set(heading[1].split(", ")))
            tables.append((events, set()))
        row = re.match(r"\| `([\w.*]+)` \|", line)
        if row:
            tables[-1][1].add(row[1])
    return tables


def written(value: object, path: str = "") -> set[str]:
    """The paths of all keys in a record."""
    if isinstance(value, list):
        return set().union(*(written(item, path) for item in value))
    if not isinstance(value, dict) or path in FREE:
        return set()
    if set(value) == {"min", "mean", "max", "count"}:
        return {f"*.{key}" for key in value}
    found = set()
    for key, item in value.items():
        below = f"{path}.{key}" if path else key
        found |= {below} | written(item, below)
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The keys of each event, of a session in which everything that can be written is."""
    folder = tmp_path_factory.mktemp("format")
    desk = Desk(folder)
    library = build_library(folder)
    desk.env.update(
        COMPUTE_BUDGET_PROBE_NVML=str(library),
        STANDIN_NVML="mig",
        RANK="0",
        GROUP_RANK="0",
        SLURM_JOB_ID="7",
        CUDA_VISIBLE_DEVICES="0",
    )
    desk.probe("wait", "other")
    desk.probe("resume")
    desk.python(PROGRAM)
    desk.probe("note", "x")
    desk.probe(
        *("change", "--kind", "code", "--what", "w", "--from", "a", "--to", "b", "--reason", "r")
    )
    desk.probe(*("run", "--expect", "a=1", "--param", "c=d", "--repeat", "2", "--", "sleep", "0.3"))
    unmodified = desk.probe("run", "--", sys.executable, "-c", UNMODIFIED, patience_s=120)
    assert unmodified.returncode == 0, unmodified.stderr.decode()
    desk.probe("check", "--", sys.executable, patience_s=120)
    desk.probe("end")
    found: dict[str, set[str]] = {}
    for record in desk.records():
        found.setdefault(record["event"], set()).update(written(record))
    return found


def test_every_event_is_really_written_and_documented(seen: dict[str, set[str]]) -> None:
    assert set(seen) == set(log.EVENTS)
    assert set().union(*(events for events, _ in documented())) == set(log.EVENTS)


def test_every_key_really_written_is_documented(seen: dict[str, set[str]]) -> None:
    tables = documented()
    for event, names in seen.items():
        known = set().union(*(keys for events, keys in tables if event in events))
        assert names <= known, (event, names - known)


def test_every_documented_key_is_really_written(seen: dict[str, set[str]]) -> None:
    for events, keys in documented():
        assert keys <= set().union(*(seen[event] for event in events)), (
            events,
            keys - set().union(*(seen[event] for event in events)),
        )


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
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        ast.parse(source, feature_version=(3, 8))
        visitor = vermin.visit(source, config)
        minimum = visitor.minimum_versions()
        assert minimum[1] is not None
        assert minimum[1] <= (3, 8), path.name


def test_the_probe_imports_the_standard_library_alone() -> None:
    for path in SOURCES:
        below = len(path.relative_to(FOLDER).parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level <= below, path.name
                names = [node.module or ""] if node.level == 0 else []
            else:
                continue
            for name in names:
                if (path.name, name) == ("sitecustomize.py", "sitecustomize"):
                    # the user's own, which runs as if the probe's were not there
                    continue
                assert name.split(".")[0] in sys.stdlib_module_names, (path.name, name)
