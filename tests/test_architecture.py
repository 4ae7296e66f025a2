"""Who may import whom, and that nobody escapes the contracts."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def contracts():
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["tool"]["importlinter"]["contracts"]


def modules():
    """Every module and package right below ``budget``."""
    names = {path.stem for path in (ROOT / "budget").glob("*.py")} - {"__init__", "__main__"}
    return names | {path.parent.name for path in (ROOT / "budget").glob("*/__init__.py")}


def test_the_import_contracts_hold():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_module_but_the_drawing_one_is_forbidden_to_draw():
    drawing = next(item for item in contracts() if item["name"] == "only budget.ui draws")
    covered = {name.removeprefix("budget.") for name in drawing["source_modules"]}
    assert covered == modules() - {"ui"}


def test_every_module_of_the_domain_has_its_place_in_the_layers():
    layers = next(item for item in contracts() if item["type"] == "layers")["layers"]
    placed = {name.strip().removeprefix("budget.") for layer in layers for name in layer.split("|")}
    assert modules() - placed <= {"importers", "probe", "store"}  # contracts of their own


def test_pages_are_thin_and_leave_the_domain_to_others():
    for path in (ROOT / "pages").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 120
        assert "session_state" not in text
        assert "import pandas" not in text
