"""How the hook starts in a Python program, and that the program does not notice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.probe import stand_in_vllm
from tests.probe.desk import ROOT, Desk

HOOK = ROOT / "budget" / "probe" / "hook"
GENERATES = "from vllm import LLM\nmodel = LLM('m')\nmodel.generate(['ab', 'abcd'])\n"
ASKS = "import sys; print('_compute_budget_probe' in sys.modules)"


@pytest.fixture
def engine(desk: Desk) -> Desk:
    """A desk at which the stand-in library lies."""
    stand_in_vllm.put(desk.folder)
    return desk


def watched(desk: Desk) -> list[tuple[str, str]]:
    """Ends of phases and calls, in the order of their time."""
    return [
        (record["event"], record["phase"])
        for record in desk.records()
        if record["event"] in ("phase.end", "call") and record.get("layer") != "parent"
    ]


def test_an_unmodified_program_is_measured_from_inside(engine: Desk) -> None:
    done = engine.python(GENERATES)
    assert (done.returncode, done.stderr) == (0, b"")
    ends = [("phase.end", "prepare"), ("phase.end", "load"), ("call", "run"), ("phase.end", "run")]
    assert watched(engine) == ends
    prepare, load, run = engine.records("phase.end")
    assert 0.1 <= load["duration_s"] < 0.15
    assert 0.05 <= run["duration_s"] < 0.08
    assert {end["layer"] for end in (prepare, load, run)} == {"hook"}
    attempt = engine.only("attempt.start")
    assert attempt["mono_ns"] <= prepare["mono_ns"] - prepare["duration_s"] * 1e9
    call = engine.only("call")
    # two prompts of 2 and 4 tokens: 3 each in the mean; 7 tokens come out of each
    assert (call["input_tokens"], call["output_tokens"], call["batch_size"]) == (3, 7, 2)
    assert call["read_by"] == "hook:vllm"
    assert engine.only("attempt.end")["hook"] == "loaded"


def test_a_program_that_uses_no_watched_library_writes_no_file(desk: Desk) -> None:
    assert desk.python(ASKS).stdout == b"True\n"
    assert len(desk.records("session.start")) == 1
    assert desk.only("attempt.end")["hook"] == "idle"


@pytest.mark.parametrize("flag", ["-I", "-E"])
def test_a_python_that_ignores_its_environment_is_not_measured_and_the_log_says_so(
    engine: Desk, flag: str
) -> None:
    code = "import sys; sys.path.insert(0, '.')\n" + GENERATES
    assert engine.run(sys.executable, flag, "-c", code).returncode == 0
    assert watched(engine) == []
    end = engine.only("attempt.end")
    assert end["hook"] == "not-loaded"
    assert flag in end["hook_why"]


def test_an_empty_environment_is_not_measured(engine: Desk) -> None:
    assert engine.run("env", "-i", sys.executable, "-c", GENERATES).returncode == 0
    assert watched(engine) == []
    assert engine.only("attempt.end")["hook"] == "not-loaded"


def test_a_module_run_by_name_is_measured(engine: Desk) -> None:
    (engine.folder / "program.py").write_text(GENERATES, encoding="utf-8")
    assert engine.run(sys.executable, "-m", "program").returncode == 0
    assert ("call", "run") in watched(engine)


def test_the_python_of_a_virtual_environment_is_measured(engine: Desk) -> None:
    done = engine.run(bare_python(engine), "-c", GENERATES)
    assert (done.returncode, done.stderr) == (0, b"")
    assert ("call", "run") in watched(engine)


def bare_python(desk: Desk) -> str:
    """A Python in whose environment nothing is installed."""
    folder = desk.folder / "v"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return str(folder / "bin" / "python")


def seen(
    desk: Desk, code: str, path: str, hooked: bool, python: str = sys.executable
) -> tuple[int, bytes, bytes]:
    """What a program says with the hook, or without."""
    desk.env["PYTHONPATH"] = path
    command = [python, "-c", code]
    if hooked:
        # the probe itself must not load the user's sitecustomize in this test
        probe = [sys.executable, "-S", "-c", "import sys; sys.path.insert(0, sys.argv.pop(1));"]
        probe[-1] += "from budget.probe.cli import main; sys.exit(main())"
        command = [*probe, str(ROOT), "run", "--", *command]
    done = subprocess.run(command, cwd=desk.folder, env=desk.env, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "own",
    [
        "import sys; sys.own = 'ran'; print('own', __name__, len(sys.argv))",
        "import sys; sys.own = 'half'; raise ValueError('broken')",
        "import sys; sys.own = 'half'; import not_there",
    ],
)
def test_the_users_own_sitecustomize_runs_as_without_the_hook(desk: Desk, own: str) -> None:
    (desk.folder / "mine").mkdir()
    (desk.folder / "mine" / "sitecustomize.py").write_text(own, encoding="utf-8")
    code = "import sys; print(sys.own, [p for p in sys.path if 'mine' in p or 'hook' in p])"
    path = str(desk.folder / "mine")
    bare = seen(desk, code, path, hooked=False)
    assert seen(desk, code, path, hooked=True) == bare
    assert bare[0] == 0
    assert bare[1].startswith((b"own sitecustomize", b"half"))
    assert b"/hook" not in bare[1]
    assert desk.only("attempt.end")["hook"] == "idle"


def test_the_hooks_folder_is_not_on_the_path_of_the_program(desk: Desk) -> None:
    done = desk.python("import sys; print([p for p in sys.path if p.endswith('hook')])")
    assert done.stdout == b"[]\n"


def test_a_program_with_a_budget_package_of_its_own_sees_its_own(engine: Desk) -> None:
    own = engine.folder / "budget"
    own.mkdir()
    (own / "__init__.py").write_text("WHOSE = 'mine'\n", encoding="utf-8")
    code = GENERATES + "import budget; print(budget.WHOSE, budget.__file__)"
    done = seen(engine, code, "", hooked=True)
    assert done[0] == 0
    assert done[1].startswith(b"mine ")
    assert str(engine.folder).encode() in done[1]
    assert ("call", "run") in watched(engine)


def test_the_functions_of_the_probe_are_there_where_the_product_is_not(desk: Desk) -> None:
    code = """
import importlib.util, sys
assert importlib.util.find_spec("budget") is None
try:
    import budget
except ImportError as problem:
    print(problem)
from budget.probe import phase, result
with phase("load"):
    pass
result("accuracy", 1.0)
print(sorted(name for name in sys.modules if name.startswith("budget")))
try:
    import budget.cli
except ImportError as problem:
    print(problem)
"""
    done = seen(desk, code, "", hooked=True, python=bare_python(desk))
    assert done == (
        0,
        b"No module named 'budget'\n['budget', 'budget.probe']\nNo module named 'budget.cli'\n",
        b"",
    )
    assert desk.only("phase.end")["layer"] == "api"
    assert desk.only("result")["name"] == "accuracy"


def test_the_api_takes_the_phases_over_from_the_hook(engine: Desk) -> None:
    code = """
from budget.probe import call, phase
from vllm import LLM
with phase("load"):
    model = LLM("m")
with phase("run"):
    model.generate(["abc"])
    call(duration_s=0.05, input_tokens=3)
    try:
        model.generate(["a"] * 5)
    except RuntimeError:
        pass
"""
    assert engine.python(code).returncode == 0
    assert [(end["phase"], end["layer"]) for end in engine.records("phase.end")] == [
        ("load", "api"),
        ("run", "api"),
    ]
    assert engine.only("call")["read_by"] == "api"
    error = engine.only("error")
    assert (error["phase"], error["layer"]) == ("run", "hook")


def test_phases_watched_before_the_api_is_used_stay(engine: Desk) -> None:
    code = GENERATES + "from budget.probe import phase\nwith phase('run'): model.generate(['a'])\n"
    assert engine.python(code).returncode == 0
    layers = [(end["phase"], end["layer"]) for end in engine.records("phase.end")]
    assert layers == [("prepare", "hook"), ("load", "hook"), ("run", "hook"), ("run", "api")]
    assert len(engine.records("call")) == 1


def test_a_probe_within_an_attempt_is_no_program_to_be_measured(engine: Desk) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'budget.probe', 'env'])"
    engine.python(code)
    assert {start["layer"] for start in engine.records("session.start")} == {"parent"}


def test_a_wrapped_function_looks_like_the_librarys_own(engine: Desk) -> None:
    code = """
import inspect, json, pickle
from vllm import LLM
import vllm.entrypoints.llm as module
print(json.dumps({
    "signature": str(inspect.signature(LLM.generate)),
    "name": LLM.generate.__qualname__,
    "text": LLM.generate.__doc__,
    "source": inspect.getsource(LLM.generate).split("(")[0].strip(),
    "loader": type(module.__loader__).__name__,
    "spec": type(module.__spec__.loader).__name__,
    "same": pickle.loads(pickle.dumps(LLM.generate)) is LLM.generate,
    "class": LLM.__module__,
}))
"""
    found: dict[str, Any] = json.loads(engine.python(code).stdout)
    assert found == {
        "signature": "(self, prompts, sampling_params=None, run_s=0.05, produced=7)",
        "name": "LLM.generate",
        "text": "Make tokens.",
        "source": "def generate",
        "loader": "SourceFileLoader",
        "spec": "SourceFileLoader",
        "same": True,
        "class": "vllm.entrypoints.llm",
    }


def test_a_broken_library_leaves_the_program_as_it_is(desk: Desk) -> None:
    package = desk.folder / "vllm" / "entrypoints"
    package.mkdir(parents=True)
    (package / "llm.py").write_text("LLM = None\n", encoding="utf-8")
    done = desk.python("from vllm.entrypoints.llm import LLM; print(LLM)")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"None\n", b"")


def test_a_log_folder_that_is_gone_is_said_once(engine: Desk) -> None:
    code = "import os; os.environ['COMPUTE_BUDGET_PROBE_DIR'] = '/proc/none'\n" + GENERATES
    done = engine.python(code)
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1
    assert b"own records are lost" in done.stderr


def test_a_start_loads_no_module_that_python_would_not_load(desk: Desk, tmp_path: Path) -> None:
    code = "import sys; print(sorted(name for name in sys.modules))"
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    hooked = {
        **environ,
        "PYTHONPATH": str(HOOK),
        "COMPUTE_BUDGET_PROBE_ATTEMPT": "a",
        "COMPUTE_BUDGET_PROBE_DIR": str(tmp_path),
        "COMPUTE_BUDGET_PROBE_SESSION": "20260101T000000Z-abcdef",
    }
    loaded = [
        set(
            json.loads(
                subprocess.check_output(
                    [
                        sys.executable,
                        "-c",
                        code.replace("print(", "import json; print(json.dumps(") + ")",
                    ],
                    env=variables,
                )
            )
        )
        for variables in (environ, hooked)
    ]
    assert loaded[1] - loaded[0] <= {"_compute_budget_probe", "sitecustomize", "atexit"}
