"""The command line: exit codes, one line per problem, JSON keys, and what a verb imports."""

from __future__ import annotations

import builtins
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from budget.cli import main
from budget.probe.host import host_facts

PROJECT = """schema: compute-budget/1
title: Two blocks on one host
currency: EUR
campaign: {start: 2027-01-11, end: 2027-02-05, deadline: 2027-02-12, cap: 100}
scope: {repository: {state: available, starts: yes}, models: [{id: m, weights: available}]}
requirements: {accelerator: any}
environments:
  - {id: host, label: one host, access: rented, gpu_count: 0, ram_bytes: 64000000000}
blocks:
  - id: reference
    kind: reference
    status: chosen
    environment: host
    gpus: 0
    condition: {model: m, input_tokens: 8, output_tokens: 4, batch_size: 1,
                parameters: {ratio: 0.3}}
    planned_runs: 12
    sessions: 2
    waits_h: {decision: 1, fix: 0, files: 0}
  - id: extension
    kind: extension
    status: undetermined
    environment: host
quotes:
  - id: q1
    environment: host
    amount: 0.50
    currency: EUR
    per: machine-hour
    holds: {gpus: 0, host: included, tax: excluded}
    source: letter 7
    verified_on: 2026-11-28
    verified_by: N. N.
    accept_by: 2026-12-31
    billing: {increment_s: 60, minimum_s: 0}
""".replace("64000000000", str(host_facts()["ram_bytes"]))  # the trial and the plan use this host
WORK = """
from budget.probe import phase
with phase("load"):
    held = bytearray(2**20)
with phase("run"):
    sum(held)
"""
AS_OF = ("--as-of", "2026-12-01")
VERBS = ("read", "estimate", "scenarios", "decide")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log that the probe really wrote: two attempts in one session."""
    folder = tmp_path_factory.mktemp("logs")
    for _ in range(2):
        subprocess.run(
            [sys.executable, "-m", "budget.probe", "run", "--out", folder, "--block", "reference",
             "--model", "m", "--input-tokens", "8", "--output-tokens", "4", "--batch-size", "1",
             "--param", "ratio=0.3",
             "--", sys.executable, "-c", WORK],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip
    subprocess.run(
        [sys.executable, "-m", "budget.probe", "end", "--out", folder],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return min(folder.glob("*.jsonl"), key=lambda path: len(path.name))  # the one to upload


@pytest.fixture
def plan(tmp_path: Path, log: Path) -> Path:
    """Return a plan in which a person assigned the attempts: neither states code or torch."""
    path = tmp_path / "plan.yaml"
    reading = loaded(call("read", log, "--json"))
    words = [f"  {item['attempt']}: {{block: reference, reason: the workload of this test}}\n"
             for item in reading["attempts"]]  # fmt: skip
    path.write_text(f"{PROJECT}attempts:\n{''.join(words)}", encoding="utf-8")
    return path


def call(*arguments: Any) -> Result:
    result = CliRunner().invoke(main, [str(item) for item in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run(*arguments: Any, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "budget", *map(str, arguments)],
        capture_output=True, text=True, timeout=60, check=False, **more,
    )  # fmt: skip


def refused(result: Any) -> list[str]:
    """Return the lines on stderr of a call that ended as unreadable, without any result."""
    code = result.exit_code if hasattr(result, "exit_code") else result.returncode
    assert code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    lines: list[str] = result.stderr.splitlines()
    assert lines
    return lines


def loaded(result: Any) -> Any:
    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(result.stdout, parse_constant=no_constant)


def figures(tree: Any) -> list[dict[str, Any]]:
    """Return every figure in a JSON tree."""
    found = []
    if isinstance(tree, dict):
        if {"value", "unit", "state"} <= set(tree):
            found.append(tree)
        tree = list(tree.values())
    if isinstance(tree, list):
        for item in tree:
            found.extend(figures(item))
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str) -> None:
    result = call(verb, "--help")
    assert result.exit_code == 0
    assert f"Usage: main {verb}" in result.stdout
    assert "--json" in result.stdout
    assert "--as-of DATE" in result.stdout


def test_the_help_names_every_verb() -> None:
    result = call("--help")
    assert result.exit_code == 0
    for verb in (*VERBS, "probe"):
        assert verb in result.stdout


def test_the_probe_has_its_own_help_behind_the_verb() -> None:
    result = run("probe", "--help")
    assert result.returncode == 0
    assert "usage: probe" in result.stdout
    assert "--reserved-since" in run("probe", "start", "--help").stdout


def test_the_verbs_exit_0_when_they_are_done(plan: Path, log: Path) -> None:
    for arguments in (("read", log), *((verb, plan, log) for verb in VERBS[1:])):
        result = call(*arguments, *AS_OF)
        assert result.exit_code == 0, result.stderr
        assert result.stderr == ""
        assert result.stdout.strip()


def test_not_enough_evidence_exits_3(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(PROJECT.replace("accelerator: any", "accelerator: unknown"), encoding="utf-8")
    for form in ((), ("--json",)):
        result = call("decide", path, *AS_OF, *form)
        assert result.exit_code == 3, result.stdout
        assert "not-enough-evidence" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("decide",), "compute-budget decide: Missing argument 'PROJECT'."),
        (("decide", "--nope", "x"), "compute-budget decide: No such option '--nope'."),
        (("guess",), "compute-budget: No such command 'guess'."),
        (("--nope",), "compute-budget: No such option '--nope'."),
        (("read",), "compute-budget read: Missing argument 'FILE...'."),
    ],
)
def test_misuse_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    (line,) = refused(run(*arguments))
    assert line.startswith(said.partition(": ")[0])
    assert line.endswith("--help")


def test_without_a_verb_the_help_is_shown() -> None:
    assert "decide" in (run().stdout + run().stderr)


@pytest.mark.parametrize(
    "day", ["tomorrow", "2027-02-30", "20270111", "2027-W02-1", "1.2.2027", ""]
)
def test_a_day_that_is_none_is_refused(day: str, plan: Path) -> None:
    (line,) = refused(call("decide", plan, "--as-of", day))
    assert line.startswith(f"--as-of {day}: not a date; write year-month-day")


@pytest.mark.parametrize("verb", VERBS[1:])
def test_a_project_that_cannot_be_read_is_one_line(verb: str, tmp_path: Path) -> None:
    binary = tmp_path / "model.bin"
    binary.write_bytes(bytes(range(256)) * 20)
    empty = tmp_path / "empty.yaml"
    empty.touch()
    for path, said in (
        (tmp_path / "gone.yaml", "No such file or directory; check the path"),
        (tmp_path, "Is a directory; check the path"),
        (empty / "below", "Not a directory; check the path"),
        (tmp_path / ("n" * 300), "File name too long; check the path"),
        (binary, ":2: the file is not UTF-8 text"),
        (empty, ":1: the file is empty"),
        ("-", "No such file or directory"),
    ):
        (line,) = refused(call(verb, path))
        assert line.startswith(str(path))
        assert said in line


def test_a_file_without_permission_is_one_line(
    plan: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.open

    def denied(file: Any, *more: Any, **extra: Any) -> Any:
        if str(file) == str(log):
            raise PermissionError(13, "Permission denied", str(file))
        return real(file, *more, **extra)

    monkeypatch.setattr(builtins, "open", denied)
    assert refused(call("decide", plan, log)) == [f"{log}: Permission denied; check the path"]


def test_a_log_in_place_of_the_project_is_said(log: Path) -> None:
    (line,) = refused(call("decide", log, log))
    assert line.startswith(f"{log}:1: this is not a project document; a project document is YAML")


def test_a_project_in_place_of_the_log_is_said(plan: Path) -> None:
    (line,) = refused(call("decide", plan, plan))
    assert line.startswith(f"{plan}")
    result = call("read", plan)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_a_file_that_is_no_log_does_not_hide_the_others(
    plan: Path, log: Path, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign.json"
    foreign.write_text('{"hello": 1}\n', encoding="utf-8")
    for arguments in (("read", log), *((verb, plan, log) for verb in VERBS[1:])):
        result = call(*arguments, foreign, *AS_OF)
        assert result.exit_code == 2
        assert str(foreign) in result.stderr
        assert result.stdout.strip()  # what the other file gave


def test_a_truncated_log_gives_what_it_holds_and_a_line(plan: Path, log: Path) -> None:
    cut = log.with_name("cut.jsonl")
    cut.write_bytes(log.read_bytes()[:-25])
    result = call("read", cut)
    assert result.exit_code == 0
    lines = log.read_bytes().count(b"\n")
    assert f"{cut}:{lines}: " in result.stderr
    assert "2 attempts read" in result.stdout


def test_every_problem_of_everything_given_is_listed_at_once(plan: Path, tmp_path: Path) -> None:
    plan.write_text(
        plan.read_text()
        .replace("planned_runs: 12", "planned_runs: 0")
        .replace("amount: 0.50", "amount: 1.000"),
        encoding="utf-8",
    )
    gone = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    lines = refused(call("decide", plan, *gone, "--as-of", "never", "--json"))
    assert [line.partition(" ")[0] for line in lines] == [
        "--as-of", f"{plan}:17:", f"{plan}:27:", f"{gone[0]}:", f"{gone[1]}:",
    ]  # fmt: skip
    assert '"1.000" is ambiguous; write 1000 or 1.0' in lines[2]


def test_control_characters_of_a_file_never_reach_the_terminal(plan: Path) -> None:
    plan.write_text(plan.read_text() + 'title2: x\n"a\\e[31m\\nb": 1\n', encoding="utf-8")
    lines = refused(call("decide", plan))
    assert len(lines) == 2
    assert not any("\x1b" in line for line in lines)


def test_numbers_beyond_reason_end_in_sentences_or_results(plan: Path, log: Path) -> None:
    whole = plan.read_text()
    for old, new in (
        ("planned_runs: 12", "planned_runs: 1e29"),
        ("sessions: 2", "sessions: 1e29"),
        ("decision: 1", "decision: 1e30"),
        ("amount: 0.50", "amount: 1e30"),
        ("input_tokens: 8", "input_tokens: 1e29"),
        ("cap: 100", "cap: 1e-30"),
        ("2027-02-05", "9999-12-31"),
    ):
        plan.write_text(whole.replace(old, new), encoding="utf-8")
        for verb in VERBS[1:]:
            for form in ((), ("--json",)):
                result = call(verb, plan, log, *AS_OF, *form)
                assert result.exit_code in (0, 2, 3), (old, verb)


def test_an_unusable_quote_is_a_line_with_its_place_and_no_failure(plan: Path, log: Path) -> None:
    plan.write_text(plan.read_text().replace("    source: letter 7\n", ""), encoding="utf-8")
    result = call("decide", plan, log, *AS_OF, "--json")
    assert result.exit_code == 0
    line = 1 + PROJECT.splitlines().index("  - id: q1")
    assert result.stderr.splitlines() == [
        f"{plan}:{line}: quote q1 is not usable: it names no source; "
        "have it completed or verified again; until then it counts as missing"
    ]
    totals = loaded(result)["totals"]
    assert [totals[name]["cost"]["value"] for name in ("spent", "remaining", "sum")] == [None] * 3


def test_the_day_decides_whether_a_quote_is_still_valid(plan: Path, log: Path) -> None:
    valid = call("decide", plan, log, "--as-of", "2026-12-01", "--json")
    late = call("decide", plan, log, "--as-of", "2027-01-02", "--json")
    assert valid.stderr == ""
    assert "it had to be accepted by 2026-12-31" in late.stderr
    assert loaded(valid)["as_of"] == "2026-12-01"
    assert loaded(valid)["totals"]["spent"]["cost"] != loaded(late)["totals"]["spent"]["cost"]


def test_a_day_pinned_in_the_project_counts_unless_another_is_asked_for(
    plan: Path, log: Path
) -> None:
    plan.write_text(plan.read_text() + "as_of: 2026-12-02\n", encoding="utf-8")
    assert loaded(call("decide", plan, log, "--json"))["as_of"] == "2026-12-02"
    asked = call("decide", plan, log, "--as-of", "2027-01-02", "--json")
    assert loaded(asked)["as_of"] == "2027-01-02"


def test_decide_prints_the_keys_of_its_interface(plan: Path, log: Path) -> None:
    out = loaded(call("decide", plan, log, *AS_OF, "--json"))
    assert {
        "as_of", "headline", "headline_text", "approve", "go", "hold", "missing", "verdicts",
        "blocks", "totals",
    } <= set(out)  # fmt: skip
    assert set(out["totals"]) == {"spent", "remaining", "sum"}
    for total in out["totals"].values():
        assert set(total) == {"machine_hours", "gpu_hours", "cost", "scenario"}
        assert total["gpu_hours"]["state"] == "not-applicable"  # the host has no GPU
    assert out["hold"]
    assert all(set(hold) == {"block", "why", "do_next"} for hold in out["hold"])
    assert out["missing"]
    assert all(set(need) == {"what", "where", "do_next"} for need in out["missing"])
    assert {verdict["rule"] for verdict in out["verdicts"]} == {
        "software-starts", "cuda-compatibility", "representative-run", "load-stability",
        "continuity",
    }  # fmt: skip
    for verdict in out["verdicts"]:
        assert {"rule", "block", "outcome", "because", "do_next"} <= set(verdict)
        assert verdict["outcome"] in ("pass", "fail", "unknown")
        assert isinstance(verdict["because"], str)
    assert [block["block"] for block in out["blocks"]] == ["reference", "extension"]


def test_every_figure_has_the_same_keys_and_money_is_text(plan: Path, log: Path) -> None:
    seen = 0
    for verb in VERBS[1:]:
        for figure in figures(loaded(call(verb, plan, log, *AS_OF, "--json"))):
            assert {"value", "low", "high", "unit", "state", "n", "k", "why"} <= set(figure)
            values = [figure[key] for key in ("value", "low", "high")]
            if figure["state"] in ("missing", "not-applicable"):
                assert values == [None, None, None]
                assert figure["why"]
            if figure["unit"].startswith("EUR"):
                seen += figure["value"] is not None
                assert all(value is None or isinstance(value, str) for value in values)
                assert not any("E" in str(value) for value in values)
            else:
                assert not any(isinstance(value, str) for value in values)
    assert seen


def test_the_json_of_a_measured_block_is_what_the_log_says(plan: Path, log: Path) -> None:
    out = loaded(call("estimate", plan, log, *AS_OF, "--json"))
    block = next(item for item in out["blocks"] if item["block"] == "reference")
    assert (block["n"], block["k"]) == (2, 1)
    reading = loaded(call("read", log, "--json"))
    runs = [attempt["phases_s"]["run"] for attempt in reading["attempts"]]
    assert len(runs) == 2
    mean_h = sum(runs) / 2 / 3600
    assert block["components"]["run"]["remaining"]["value"] == pytest.approx(12 * mean_h)
    assert block["components"]["wait"]["remaining"]["value"] == 1  # decision 1 h, fix and files 0


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('\\n' + ' '.join(sys.modules))"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_the_command_line_starts_without_what_verbs_need() -> None:
    heavy = {"msgspec", "yaml", "streamlit", "pandas", "numpy", "scipy", "sqlalchemy", "altair",
             "babel"}  # fmt: skip
    assert not heavy & modules_after("import budget.cli")
    calls = "from budget.cli import main\nmain(['--help'], standalone_mode=False)"
    assert not heavy & modules_after(calls)


def test_deciding_imports_no_dashboard_and_no_database(plan: Path, log: Path) -> None:
    arguments = ["decide", str(plan), str(log), *AS_OF]
    modules = modules_after(
        f"from budget.cli import main\nmain({arguments!r}, standalone_mode=False)"
    )
    assert not {"streamlit", "pandas", "altair", "sqlalchemy"} & modules


def test_a_reader_that_stops_early_sees_no_traceback(plan: Path, log: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "budget", "decide", str(plan), str(log), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_any_terminal_can_show_the_output(plan: Path, log: Path, tmp_path: Path) -> None:
    plan.write_text(plan.read_text().replace("one host", "café → 漢"), encoding="utf-8")
    odd = os.fsencode(tmp_path) + b"/\xff.jsonl"
    with open(odd, "wb") as file:
        file.write(log.read_bytes())
    for encoding in ("ascii", "utf-8"):
        env = {**os.environ, "PYTHONIOENCODING": encoding}
        for form in ((), ("--json",)):
            done = subprocess.run(
                [sys.executable, "-m", "budget", "estimate", plan, odd, *AS_OF, *form],
                capture_output=True, env=env, timeout=60, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            if form:
                assert json.loads(done.stdout)["blocks"]


def test_the_output_fits_a_page_of_100_columns(plan: Path, log: Path) -> None:
    for arguments in (("decide", plan), ("decide", plan, log), ("estimate", plan, log)):
        for line in call(*arguments, *AS_OF).stdout.splitlines():
            assert len(line) <= 100, line


def test_what_is_missing_says_so_in_the_tables(plan: Path) -> None:
    result = call("decide", plan, *AS_OF)
    spent = next(line for line in result.stdout.splitlines() if line.startswith("  spent"))
    assert "missing" in spent
    estimated = call("estimate", plan, *AS_OF).stdout
    assert "missing" in estimated
    assert "None" not in estimated + result.stdout
