"""What README and the other documents say is what the product does."""

import re
import subprocess
from pathlib import Path

import document_schema
import pytest
import readme_output

from budget import headlines, importers, rules
from budget.cli import main
from budget.probe import cli
from budget.wording import Wording

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def rows(heading):
    """The cells of the first table under a heading."""
    section = README.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    table = re.search(r"(\|.+\n)+", section).group(0).splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


@pytest.mark.parametrize(("command", "shown"), readme_output.CONSOLE.findall(README))
def test_every_command_in_readme_prints_what_readme_shows(command, shown):
    assert shown.strip()
    assert readme_output.printed(command).strip() == shown.strip()


def test_the_table_of_headlines_is_the_one_that_decides():
    documented = [row[0].strip("`") for row in rows("How it decides")]
    assert documented == [code for code, _ in headlines.HEADLINES]


def test_the_table_of_rules_is_the_one_that_judges():
    section = README.split("It rests on five rules", 1)[1].split("\n## ", 1)[0]
    words = Wording()
    table = [f"| `{rule.ID}` | {words.text(rule.TITLE)} | {words.text(rule.WHY)} |"
             for rule in rules.ALL]  # fmt: skip
    assert [line for line in section.splitlines() if line.startswith("| `")] == table


def test_the_table_of_formats_names_every_importer():
    documented = {row[0].strip("`") for row in rows("Formats read")}
    assert {module.FORMAT for module in importers.ALL} | {"compute-budget/1"} == documented


def test_the_table_of_verbs_names_every_verb():
    documented = {row[0].split()[1] for row in rows("Decide in a terminal")}
    assert documented == set(main.commands)


def test_the_table_of_the_probes_verbs_names_every_verb():
    section = README.split("## Measure", 1)[1].split("\n## ", 1)[0]
    documented = re.findall(r"^\| `([a-z]+)` \|", section, re.MULTILINE)
    assert sorted(documented) == sorted(verb.name for verb in cli.VERBS)


def test_the_table_of_watched_libraries_is_what_the_watchers_say_of_themselves():
    assert readme_output.libraries() in README
    watched = {path.stem for path in (ROOT / "budget/probe/inside").glob("*_watcher.py")}
    assert watched == {module.__name__.rsplit(".", 1)[1] for module in readme_output.WATCHERS}


def test_the_schema_of_the_document_is_generated_from_its_records():
    written = (ROOT / "docs" / "project-document.md").read_text(encoding="utf-8")
    assert written == document_schema.page(), "run: python tests/document_schema.py"


def test_every_link_of_the_documents_leads_somewhere():
    for document in (ROOT / "README.md", ROOT / "sample_logs" / "README.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_constraints_name_exact_versions_and_no_address():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert "torch==2.13.0" in lines
    assert not [line for line in lines if "://" in line or " @ " in line]
    assert all(line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)


def test_no_file_of_the_project_holds_a_path_of_a_machine():
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    machine = re.compile(rb"(?<![\w.])/(?:home|root|work|Users)/\w")
    found = [name for name in tracked if name and not name.startswith("tests/")
             and machine.search((ROOT / name).read_bytes())]  # fmt: skip
    assert not found
