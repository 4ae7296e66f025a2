"""Distributed runs: one session and one attempt, a file for each process, ranks known."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from budget import importers, joining
from tests.probe.desk import ROOT, Desk

PATIENCE_S = 120.0
TORCHRUN = str(Path(sys.executable).with_name("torchrun"))
WORKLOAD = str(ROOT / "sample_logs" / "workload.py")
SIZES = ("--input-tokens", "64", "--output-tokens", "4", "--batch-size", "2", "--items", "4")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The bundled workload, really run by torchrun in two processes."""
    desk = Desk(tmp_path_factory.mktemp("distributed"))
    done = desk.probe(
        *("run", "--block", "b", "--", TORCHRUN, "--standalone", "--nproc-per-node", "2", WORKLOAD),
        *SIZES,
        patience_s=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr.decode()
    summary = json.loads(done.stdout.splitlines()[-1])
    # 4 items of 2 sequences of 4 tokens, over both processes
    assert summary["generated_tokens"] == 32
    assert summary["recorded"]
    assert desk.probe("end").returncode == 0
    return desk


def test_every_process_writes_its_own_file_of_one_attempt(measured: Desk) -> None:
    attempt = measured.only("attempt.start")["attempt"]
    runs = [record for record in measured.records("phase.end") if record["phase"] == "run"]
    assert sorted(record["rank"] for record in runs) == [0, 1]
    assert {record["node"] for record in runs} == {0}
    assert len({record["pid"] for record in runs}) == 2
    assert {record["attempt"] for record in measured.records("call")} == {attempt}
    assert len({record["session"] for record in measured.records()}) == 1


def test_only_the_first_rank_prepares_and_every_rank_loads(measured: Desk) -> None:
    ends = measured.records("phase.end")
    assert [record["rank"] for record in ends if record["phase"] == "prepare"] == [0]
    assert sorted(record["rank"] for record in ends if record["phase"] == "load") == [0, 1]


def test_the_launcher_itself_is_the_parents_and_has_no_rank(measured: Desk) -> None:
    end = measured.only("attempt.end")
    assert "rank" not in end
    assert end["hook"] == "loaded"


def test_the_reader_takes_the_time_of_the_slowest_rank(measured: Desk) -> None:
    (path,) = [path for path in measured.logs.glob("*.jsonl") if path.stem.count("-") == 1]
    imported = importers.read(path.name, path.read_bytes())
    assert not imported.problems
    (attempt,) = joining.combine([imported]).attempts
    loads = [record for record in measured.records("phase.end") if record["phase"] == "load"]
    begins = [record for record in measured.records("phase.start") if record["phase"] == "load"]
    # the group loads from its first rank's beginning to the end of its slowest one
    first, last = min(r["mono_ns"] for r in begins), max(r["mono_ns"] for r in loads)
    assert attempt.phase_s("load") == pytest.approx((last - first) / 1e9, abs=0.005)
    assert attempt.phase_s("load") >= max(record["duration_s"] for record in loads)
    # each process generated two of the four items
    assert len(attempt.calls) == 4


def test_what_accelerate_launches_is_one_attempt_too(desk: Desk) -> None:
    """On a processor alone it starts one process; several need cards or MPI."""
    launch = str(Path(sys.executable).with_name("accelerate"))
    options = ("--num_processes", "1", "--num_machines", "1", "--mixed_precision", "no", "--cpu")
    done = desk.probe(
        *("run", "--", launch, "launch", *options, "--dynamo_backend", "no", WORKLOAD),
        *SIZES,
        patience_s=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr.decode()
    runs = [record for record in desk.records("phase.end") if record["phase"] == "run"]
    assert [record["attempt"] for record in runs] == [desk.only("attempt.start")["attempt"]]
    assert len(desk.records("call")) == 4
