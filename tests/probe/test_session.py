"""Sessions: how they open, survive damage, and end in one file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.probe.desk import PATIENCE_S, Desk


def merged(desk: Desk) -> list[bytes]:
    (path,) = [path for path in desk.logs.glob("*.jsonl") if path.stem.count("-") == 1]
    return path.read_bytes().splitlines(keepends=True)


def test_the_first_command_opens_a_session_and_the_next_joins_it(desk: Desk) -> None:
    desk.run("true")
    desk.probe("note", "hello")
    assert len({record["session"] for record in desk.records()}) == 1
    assert desk.only("note")["text"] == "hello"


def test_a_second_start_is_refused_while_a_session_is_open(desk: Desk) -> None:
    assert desk.probe("start", "--reserved-since", "2026-01-11T09:00:00+01:00").returncode == 0
    assert desk.probe("start").returncode == 2
    assert desk.only("session.start")["reserved_since"] == "2026-01-11T08:00:00.000000Z"


def test_every_file_begins_with_session_start(desk: Desk) -> None:
    desk.python("from budget.probe import phase\nwith phase('run'): pass")
    desk.probe("wait", "files")
    paths = list(desk.logs.glob("*.jsonl"))
    assert len(paths) == 3
    for path in paths:
        assert json.loads(path.read_bytes().splitlines()[0])["event"] == "session.start"
    assert sorted(r["layer"] for r in desk.records("session.start")) == ["api", "parent", "parent"]


def test_the_end_merges_every_record_once_and_begins_with_session_start(desk: Desk) -> None:
    desk.python("from budget.probe import phase\nwith phase('run'): pass")
    desk.run("false")
    desk.probe("note", "x")
    done = desk.probe("end", "--released-at", "2026-01-11T09:00:00Z")
    lines = merged(desk)
    raw = [
        line
        for path in desk.logs.glob("*Z-*-*-*.jsonl")
        for line in path.read_bytes().splitlines(keepends=True)
    ]
    assert sorted(lines) == sorted(raw)
    records = [json.loads(line) for line in lines]
    assert records[0]["event"] == "session.start"
    order = [(record["t"], record["mono_ns"]) for record in records]
    assert order == sorted(order)
    assert records[-1]["released_at"] == "2026-01-11T09:00:00.000000Z"
    text = done.stdout.decode()
    assert "Upload this file: compute-budget-logs" in text
    assert "2 attempts (1 failed, 1 ok), 0 waits, 0 changes and 1 note" in text
    assert not (desk.logs / "session.json").exists()


def test_a_clock_that_was_set_back_does_not_move_session_start_from_the_first_line(
    desk: Desk,
) -> None:
    desk.probe("note", "later")
    (path,) = desk.logs.glob("*Z-*-*-*.jsonl")
    start, note = path.read_text().splitlines()
    earlier = json.dumps({**json.loads(note), "t": "2020-01-01T00:00:00.000000Z"})
    path.write_text(start + "\n" + earlier + "\n")
    desk.probe("end")
    assert json.loads(merged(desk)[0])["event"] == "session.start"


def test_a_line_cut_off_is_left_out_of_the_merged_file_and_counted(desk: Desk) -> None:
    desk.probe("note", "x")
    (path,) = desk.logs.glob("*Z-*-*-*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"event":"note","t":"2026-\xc3')
    done = desk.probe("end")
    assert b"Left out: 1 incomplete line" in done.stdout
    assert all(json.loads(line) for line in merged(desk))


def test_a_damaged_state_file_continues_the_session(desk: Desk) -> None:
    desk.probe("start", "--reserved-since", "2026-01-11T09:00:00Z")
    session = desk.only("session.start")["session"]
    state = desk.logs / "session.json"
    for damage in (b"", state.read_bytes()[:40], b"\xff\x00", b"[1]", b'{"session": "../x"}'):
        state.write_bytes(damage)
        done = desk.run("sh", "-c", "exit 4")
        assert done.returncode == 4
        assert done.stderr.count(b"\n") == 1
    assert {record["session"] for record in desk.records()} == {session}
    assert {record["reserved_since"] for record in desk.records("session.start")} == {
        "2026-01-11T09:00:00.000000Z"
    }


def test_a_damaged_state_file_without_logs_opens_a_new_session(desk: Desk) -> None:
    desk.logs.mkdir()
    (desk.logs / "session.json").write_bytes(b'{"sess')
    assert desk.run("true").returncode == 0
    assert desk.only("attempt.end")["outcome"] == "ok"


def test_a_new_session_follows_one_that_ended(desk: Desk) -> None:
    desk.run("true")
    desk.probe("end")
    desk.run("true")
    assert len({record["session"] for record in desk.records()}) == 2


def test_two_probes_at_once_share_one_session_and_not_a_file(desk: Desk) -> None:
    words = ("run", "--block", "b", "--", sys.executable, "-c", "import time; time.sleep(0.3)")
    both = [desk.start(*words), desk.start(*words)]
    for process in both:
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
    assert len(desk.records("attempt.end")) == 2
    assert len({record["session"] for record in desk.records()}) == 1
    assert len({record["attempt"] for record in desk.records("attempt.start")}) == 2
    assert len(list(desk.logs.glob("*.jsonl"))) == 2
    assert all(start["retry_of"] is None for start in desk.records("attempt.start"))


def test_a_session_does_not_end_while_an_attempt_runs(desk: Desk) -> None:
    process = desk.start("run", "--block", "b", "--", "sleep", "30")
    desk.await_record("heartbeat")
    done = desk.probe("end")
    process.terminate()
    process.communicate(timeout=PATIENCE_S)
    assert done.returncode == 2
    assert b"still running" in done.stderr
    assert desk.probe("end").returncode == 0


def test_retry_of_names_the_blocks_last_attempt_if_it_did_not_end_well(desk: Desk) -> None:
    desk.run("false", block="a")
    desk.run("true", block="other")
    desk.run("true", block="a")
    desk.run("true", block="a")
    first, other, second, third = desk.records("attempt.start")
    assert first["retry_of"] is None
    assert other["retry_of"] is None
    assert second["retry_of"] == first["attempt"]
    assert third["retry_of"] is None


def test_an_attempt_whose_probe_was_killed_is_retried(desk: Desk) -> None:
    process = desk.start("run", "--block", "b", "--", "sleep", "0.2")
    desk.await_record("heartbeat")
    process.kill()
    process.wait(timeout=PATIENCE_S)
    desk.run("true")
    first, second = desk.records("attempt.start")
    assert second["retry_of"] == first["attempt"]


def test_waits_end_by_resume_by_another_wait_by_a_run_and_by_the_end(desk: Desk) -> None:
    desk.probe("wait", "decision")
    desk.probe("resume")
    desk.probe("wait", "fix")
    desk.probe("wait", "files")
    desk.run("true")
    desk.probe("wait", "queue")
    desk.probe("end")
    events = ("wait.start", "wait.end", "attempt.start", "session.end")
    seen = [(r["event"], r.get("reason")) for r in desk.records() if r["event"] in events]
    assert seen == [
        ("wait.start", "decision"),
        ("wait.end", "decision"),
        ("wait.start", "fix"),
        ("wait.end", "fix"),
        ("wait.start", "files"),
        ("wait.end", "files"),
        ("attempt.start", None),
        ("wait.start", "queue"),
        ("wait.end", "queue"),
        ("session.end", None),
    ]


def test_what_is_intended_and_what_was_changed_is_recorded(desk: Desk) -> None:
    desk.probe(
        *("run", "--block", "b", "--role", "campaign", "--model", "tiny", "--input-tokens", "8"),
        *("--param", "ratio=0.3", "--param", "path=a=b", "--", "true"),
    )
    desk.probe(
        *("change", "--kind", "parameter", "--what", "batch", "--from", "8", "--to", "4"),
        *("--reason", "out of memory"),
    )
    start, change = desk.only("attempt.start"), desk.only("change")
    assert start["role"] == "campaign"
    assert start["condition"] == {
        "model": "tiny",
        "input_tokens": 8,
        "output_tokens": None,
        "batch_size": None,
        "parameters": {"ratio": "0.3", "path": "a=b"},
    }
    assert (change["from"], change["to"], change["reason"]) == ("8", "4", "out of memory")


def test_the_log_folder_is_an_option_or_a_variable(desk: Desk, tmp_path: Path) -> None:
    desk.env["COMPUTE_BUDGET_LOG_DIR"] = str(tmp_path / "by variable")
    desk.probe("note", "x")
    desk.probe("note", "--out", "by option", "x")
    assert {path.name for path in tmp_path.iterdir()} == {"by variable", "by option"}


def test_the_code_version_is_the_commit_and_what_differs_from_it(desk: Desk) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        done = subprocess.run(
            ["git", *identity, *words],
            cwd=desk.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def version() -> dict[str, object]:
        desk.run("true")
        return dict(desk.records("attempt.start")[-1]["code"])

    assert version()["why"] == "the current folder is not in a git repository"
    git("init", "-q")
    assert version()["why"] == "the git repository has no commit"
    (desk.folder / "main.py").write_text("a = 1\n")
    git("add", "main.py")
    git("commit", "-qm", "first")
    clean = version()
    assert clean == {
        "commit": git("rev-parse", "HEAD"),
        "dirty": False,
        "diff_hash": None,
        "why": None,
    }
    (desk.folder / "result.json").write_text("{}")
    assert version() == clean
    (desk.folder / "helper.py").write_text("b = 1\n")
    untracked = version()
    (desk.folder / "helper.py").write_text("b = 2\n")
    other = version()
    (desk.folder / "main.py").write_text("a = 2\n")
    changed = version()
    assert [v["dirty"] for v in (untracked, other, changed)] == [True] * 3
    assert len({v["diff_hash"] for v in (untracked, other, changed)}) == 3
    assert version() == changed


def test_without_git_the_code_version_says_so(desk: Desk) -> None:
    desk.env["PATH"] = str(desk.folder)
    desk.python("")
    code = desk.only("attempt.start")["code"]
    assert code == {
        "commit": None,
        "dirty": None,
        "diff_hash": None,
        "why": "git is not installed",
    }
