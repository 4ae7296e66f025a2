"""Which importer reads a file, and what is said of a file that none reads."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from types import SimpleNamespace

import pytest

from budget import importers
from budget.attempts import ImportedLog
from budget.importers import probe_log
from budget.messages import Problem
from tests.importers.written import MERGED_LINES, file, said, told

GOOD = file(*MERGED_LINES)


def only_problem(data: bytes, name: str = "f") -> Problem:
    log = importers.read(name, data)
    assert (log.format, log.sessions, log.attempts, log.fragments) == ("unknown", (), (), ())
    [problem] = log.problems
    return problem


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("log.jsonl", GOOD)
    return buffer.getvalue()


@pytest.mark.parametrize("importer", importers.ALL, ids=lambda module: module.FORMAT)
@pytest.mark.parametrize("data", [b"", b"\x00", b"hello", b"{}", b"\xff\xfe"])
def test_no_importer_claims_what_is_no_log(importer, data):
    assert importer.sniff("log.jsonl", data) is False


def test_exactly_one_importer_claims_a_log_of_the_probe():
    claims = [module for module in importers.ALL if module.sniff("any name", GOOD)]
    assert claims == [probe_log]
    assert importers.read("f.jsonl", GOOD).format == "compute-budget-log/1"


def test_console_output_before_the_log_does_not_hide_it():
    log = importers.read("f.jsonl", b"Loading weights...\n" + GOOD)
    assert [attempt.id for attempt in log.attempts] == ["a1"]
    assert [told(p) for p in log.problems] == [
        "f.jsonl:1 the line, or a part of it, is no complete record"
    ]


@pytest.mark.parametrize(
    ("data", "what", "do_next"),
    [
        (b"", "nothing was written in it: was the disk full?", "log folder"),
        (b" \r\n\xef\xbb\xbf", "the file is empty", "log folder"),
        (gzip.compress(GOOD), "compressed file (gzip)", "unpack it"),
        (zipped(), "compressed file (zip)", "unpack it"),
        (GOOD.decode().encode("utf-16"), "PowerShell's `>`", "save it again as UTF-8"),
        (GOOD.decode().encode("utf-16-be"), "PowerShell's `>`", "save it again as UTF-8"),
        (b"caf\xe9 au lait", "not text in UTF-8 (byte 3", "`probe end` wrote"),
        (b"a\x00\x00\x00b", "zero bytes", "`probe end` wrote"),
        (b'{"latency": 1, "model": "m"}', "its keys are latency, model", "`probe end` wrote"),
        (b'{"lat": 1}\n{"lat": 2}\n', "JSON lines, but not a log", "`probe end` wrote"),
        (b"{}", "an empty object", "`probe end` wrote"),
        (b"[1, 2]", "a JSON list", "`probe end` wrote"),
        (b"# paper\nschema: compute-budget/1\ntitle: x\n", "a project document", "decide f LOG"),
        (b'{"schema": "compute-budget/1"}', "a project document", "decide f LOG"),
        (b"Tokens per second: 41\n", "it begins: Tokens per second: 41", "`probe end` wrote"),
        (b"[" * 200_000, "plain text", "`probe end` wrote"),
        (b"9" * 5000, "plain text", "`probe end` wrote"),
    ],
)
def test_a_file_that_is_no_log_is_called_what_it_looks_like(data, what, do_next):
    problem = only_problem(data)
    assert problem.where == "f"
    assert what in said(problem.what)
    assert do_next in said(problem.do_next)


def test_at_most_twelve_keys_of_a_foreign_document_are_named():
    problem = only_problem(json.dumps({f"k{i}": i for i in range(40)}).encode())
    assert problem.what.values["keys"] == tuple(f"k{i}" for i in range(12))


def test_a_file_over_the_limit_is_refused_unread(monkeypatch):
    monkeypatch.setattr(importers, "MAX_BYTES", len(GOOD) - 1)
    problem = only_problem(GOOD)
    assert problem.what.values["size"].value == len(GOOD)
    assert problem.what.values["limit"].value == len(GOOD) - 1
    monkeypatch.setattr(importers, "MAX_BYTES", len(GOOD))
    assert importers.read("f", GOOD).format != "unknown"


def test_the_limit_is_64_mib():
    assert importers.MAX_BYTES == 67_108_864  # 64 * 1024 * 1024


def test_two_claims_are_no_claim_and_both_are_named(monkeypatch):
    def never(name: str, data: bytes) -> ImportedLog:
        raise AssertionError("must not read")

    twin = SimpleNamespace(FORMAT="twin/1", sniff=lambda name, data: True, read=never)
    monkeypatch.setattr(importers, "ALL", (twin, SimpleNamespace(**{**vars(twin), "FORMAT": "b"})))
    assert only_problem(GOOD).what.values["formats"] == ("twin/1", "b")
