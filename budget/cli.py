"""The command line. Only click is imported until a verb is known: ``--help`` must be instant."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from budget.attempts import ImportedLog
    from budget.documents import Document
    from budget.messages import Problem
    from budget.workflow import Assessment

UNREADABLE = 2
NOT_ENOUGH_EVIDENCE = 3


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options every verb has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)
    return click.option(
        "--as-of",
        metavar="DATE",
        help="Judge as of this day (default: today). A date pinned in the project wins.",
    )(command)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Turn measurements of a representative trial into a compute decision and its budget."""


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_common
def read(files: tuple[str, ...], as_json: bool, as_of: str | None) -> None:
    """Read measurement logs: attempts, sessions, and what could not be read, line by line."""
    from budget import as_json as output
    from budget.attempts import combine

    _day(as_of)
    logs = _logs(files)
    measurements = combine(logs)
    _complain(measurements.problems)
    if as_json:
        _print_json(output.reading(logs, measurements))
    else:
        from budget import tables

        tables.show_reading(logs, measurements)
    if any(not log.attempts and not log.sessions and not log.fragments for log in logs):
        sys.exit(UNREADABLE)


@main.command()
@click.argument("project")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@_common
def estimate(project: str, logs: tuple[str, ...], as_json: bool, as_of: str | None) -> None:
    """Estimate every block of PROJECT.yaml: per component low, mid, high, n and k."""
    result = _assess(project, logs, as_of)
    if as_json:
        from budget import as_json as output

        _print_json(
            {
                "as_of": result.as_of.isoformat(),
                "blocks": [output.estimate(item, result.project) for item in result.estimates],
                "attempts": [
                    output.attempt(item, result.service(item.id))
                    for item in result.measurements.attempts
                ],
            }
        )
    else:
        from budget import tables

        tables.show_estimates(result)


@main.command()
@click.argument("project")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@_common
def scenarios(project: str, logs: tuple[str, ...], as_json: bool, as_of: str | None) -> None:
    """Show the cost lines of every scenario, what is missing, and break-even rates."""
    from budget.scenarios import break_even_rates, comparison, questions_to_provider

    result = _assess(project, logs, as_of)
    rates = break_even_rates(result.project, result.estimates, result.scenarios)
    side_by_side = comparison(result.scenarios)
    if as_json:
        from budget import as_json as output

        _print_json(
            {
                "as_of": result.as_of.isoformat(),
                "scenarios": [output.scenario(item) for item in result.scenarios],
                "comparison": {
                    "possible": side_by_side.possible,
                    "statements": [output.text(item) for item in side_by_side.statements],
                    "missing": [output.need(item) for item in side_by_side.needs],
                },
                "break_even": {
                    "rates": [
                        {"name": output.text(item.name), "figure": output.figure(item.figure)}
                        for item in rates.rates
                    ],
                    "missing": [output.need(item) for item in rates.needs],
                },
                "questions": [
                    output.text(item)
                    for item in questions_to_provider(result.project, result.estimates)
                ],
            }
        )
    else:
        from budget import tables

        tables.show_scenarios(result, side_by_side, rates)


@main.command()
@click.argument("project")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@_common
def decide(project: str, logs: tuple[str, ...], as_json: bool, as_of: str | None) -> None:
    """Decide: the headline, its reasons, the totals, what may go, what is missing from whom."""
    result = _assess(project, logs, as_of)
    if as_json:
        from budget import as_json as output

        _print_json(output.decision(result.decision, result.estimates, result.project))
    else:
        from budget import tables

        tables.show_decision(result)
    if result.decision.headline == "not-enough-evidence":
        sys.exit(NOT_ENOUGH_EVIDENCE)


@main.command(
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": [],
    },
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def probe(arguments: tuple[str, ...]) -> None:
    """The probe: run, start, wait, resume, note, change, end (see `probe --help`)."""
    from budget.probe.cli import main as probe_main

    sys.exit(probe_main(list(arguments)))


def _assess(project: str, logs: Iterable[str], as_of: str | None) -> Assessment:
    from budget import workflow

    day = _day(as_of)
    document = _document(project)
    read = _logs(logs)
    result = workflow.assess(_sound(document), read, day)
    _complain(result.measurements.problems)
    _complain(workflow.quote_problems(document, project, result))
    if read and all(not log.attempts and not log.sessions and not log.fragments for log in read):
        sys.exit(UNREADABLE)
    return result


def _document(name: str) -> Document:
    from budget import documents

    return documents.read(_bytes(name), name)


def _sound(document: Document) -> Any:
    """Return the project, or end: a plan with errors in it supports no decision."""
    _complain(document.problems)
    if document.problems or document.project is None:
        sys.exit(UNREADABLE)
    return document.project


def _logs(names: Iterable[str]) -> tuple[ImportedLog, ...]:
    from budget.workflow import read_logs

    return read_logs((name, _bytes(name)) for name in names)


def _bytes(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        click.echo(f"{name}: {error.strerror}: check the path", err=True)
        sys.exit(UNREADABLE)


def _day(text: str | None) -> Any:
    """Return the day to judge as of; this is the only place that asks the clock."""
    from datetime import UTC, date, datetime

    if text is None:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        click.echo(
            f"--as-of {text}: not a date: write year-month-day, such as 2027-01-11", err=True
        )
        sys.exit(UNREADABLE)


def _complain(problems: Iterable[Problem]) -> None:
    """Print one line per problem: where, what, what to do next."""
    from budget.wording import Wording

    words = Wording()
    for problem in problems:
        what, do_next = words.text(problem.what), words.text(problem.do_next)
        line = f"{problem.where}: {what}; {do_next}".replace("\n", " ")
        click.echo(line, err=True)


def _print_json(value: Any) -> None:
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))
