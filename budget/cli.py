"""The command line. Only click is imported until a verb is known: ``--help`` must be instant."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from budget.attempts import ImportedLog
    from budget.documents import Document
    from budget.messages import Problem
    from budget.workflow import Assessment

UNREADABLE = 2
NOT_ENOUGH_EVIDENCE = 3
MOST_PROJECT_BYTES = 32 * 2**20
"""A project document is read up to here; ``documents`` then says that it is too large."""


class _Misuse(click.ClickException):
    """Wrong words on the command line, as one line on stderr."""

    exit_code = UNREADABLE

    def __init__(self, error: click.UsageError) -> None:
        place = error.ctx.command_path if error.ctx else "compute-budget"
        super().__init__(_one_line(f"{place}: {error.format_message()} See {place} --help"))

    def show(self, file: Any = None) -> None:
        click.echo(self.message, file=file, err=True)


class _Verbs(click.Group):
    """The verbs; misuse is one line, and any terminal or pipe takes the output."""

    def main(self, *args: Any, **extra: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a stand-in for a terminal may lack it
                stream.reconfigure(errors="backslashreplace")
        return super().main(*args, **extra)

    def make_context(self, info_name: Any, args: list[str], *more: Any, **extra: Any) -> Any:
        if not args:  # the help is shown
            return super().make_context(info_name, args, *more, **extra)
        try:
            return super().make_context(info_name, args, *more, **extra)
        except click.UsageError as error:
            raise _Misuse(error) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise _Misuse(error) from error


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options every verb has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)
    return click.option(
        "--as-of",
        metavar="DATE",
        help="Judge as of this day (default: today). It wins over a day pinned in the project.",
    )(command)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Turn measurements of a representative trial into a compute decision and its budget."""


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_common
def read(files: tuple[str, ...], as_json: bool, as_of: str | None) -> None:
    """Read measurement logs: attempts, sessions, and what could not be read, line by line."""
    from budget import as_json as output
    from budget.joining import combine

    given = _Given(as_of)
    logs = given.logs(files)
    given.settle()
    measurements = combine(logs)
    _complain(measurements.problems)
    if as_json:
        _print_json(output.reading(logs, measurements))
    else:
        from budget import tables

        tables.show_reading(logs, measurements)
    _settle_logs(logs)


@main.command()
@click.argument("project")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@_common
def estimate(project: str, logs: tuple[str, ...], as_json: bool, as_of: str | None) -> None:
    """Estimate every block of PROJECT.yaml: per component low, mid, high, n and k."""
    result, read_logs = _assess(project, logs, as_of)
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
    _settle_logs(read_logs)


@main.command()
@click.argument("project")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@_common
def scenarios(project: str, logs: tuple[str, ...], as_json: bool, as_of: str | None) -> None:
    """Show the cost lines of every scenario, what is missing, and break-even rates."""
    from budget.scenarios import break_even_rates, comparison, questions_to_provider

    result, read_logs = _assess(project, logs, as_of)
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
    _settle_logs(read_logs)


@main.command()
@click.argument("project")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@_common
def decide(project: str, logs: tuple[str, ...], as_json: bool, as_of: str | None) -> None:
    """Decide: the headline, its reasons, the totals, what may go, what is missing from whom."""
    result, read_logs = _assess(project, logs, as_of)
    if as_json:
        from budget import as_json as output

        _print_json(output.decision(result.decision, result.estimates, result.project))
    else:
        from budget import tables

        tables.show_decision(result)
    _settle_logs(read_logs)
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
    """The probe: measures a command on this host (see `probe --help`)."""
    from budget.probe.cli import main as probe_main

    sys.exit(probe_main(list(arguments)))


def _assess(
    project: str, logs: Iterable[str], as_of: str | None
) -> tuple[Assessment, tuple[ImportedLog, ...]]:
    """Read everything that was given and judge it, or end with every problem on its line."""
    from budget import workflow

    given = _Given(as_of)
    document = given.document(project)
    read = given.logs(logs)
    if given.failed:
        _complain(problem for log in read for problem in log.problems)
    sound = given.settle(document)
    assert document is not None  # else it would have ended
    result = workflow.assess(sound, read, given.day, asked=as_of is not None)
    _complain(result.measurements.problems)
    _complain(workflow.quote_problems(document, project, result))
    if read and all(map(_gave_nothing, read)):
        sys.exit(UNREADABLE)
    return result, read


class _Given:
    """What stands on the command line. Everything is looked at before the first failure ends."""

    def __init__(self, as_of: str | None) -> None:
        self.failed = False
        self.day = self._day(as_of)

    def document(self, name: str) -> Document | None:
        """Read the project document; its problems are printed."""
        from budget import documents

        data = self._bytes(name, MOST_PROJECT_BYTES)
        if data is None:
            return None
        document = documents.read(data, name)
        _complain(document.problems)
        self.failed = self.failed or bool(document.problems) or document.project is None
        return document

    def logs(self, names: Iterable[str]) -> tuple[ImportedLog, ...]:
        """Read the logs whose files can be opened."""
        from budget.workflow import read_logs

        opened = [(name, self._bytes(name)) for name in names]
        return read_logs((name, data) for name, data in opened if data is not None)

    def settle(self, document: Document | None = None) -> Any:
        """Return the project, or end: what has errors in it supports no conclusion."""
        if self.failed:
            sys.exit(UNREADABLE)
        return document.project if document else None

    def _bytes(self, name: str, most: int = -1) -> bytes | None:
        try:
            with open(name, "rb") as file:
                return file.read(most)
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or str(error)
            click.echo(_one_line(f"{name}: {said}; check the path"), err=True)
            self.failed = True
            return None

    def _day(self, text: str | None) -> Any:
        """Return the day to judge as of; this is the only place that asks the clock."""
        from datetime import UTC, date, datetime

        if text is None:
            return datetime.now(UTC).date()
        try:
            if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
                return date.fromisoformat(text)
        except ValueError:
            pass  # such as 2027-02-30
        what = f"--as-of {text}: not a date; write year-month-day, such as 2027-01-11"
        click.echo(_one_line(what), err=True)
        self.failed = True
        return None


def _gave_nothing(log: ImportedLog) -> bool:
    return not log.attempts and not log.sessions and not log.fragments


def _settle_logs(logs: Sequence[ImportedLog]) -> None:
    """End as unreadable when one of the files was no log: what was printed lacks it."""
    if any(map(_gave_nothing, logs)):
        sys.exit(UNREADABLE)


def _complain(problems: Iterable[Problem]) -> None:
    """Print one line per problem: where, what, what to do next."""
    from budget.wording import Wording

    words = Wording()
    for problem in problems:
        what, do_next = words.text(problem.what), words.text(problem.do_next)
        click.echo(_one_line(f"{problem.where}: {what}; {do_next}"), err=True)


def _one_line(text: str) -> str:
    """Return text as one line without control characters: files and arguments may hold any."""
    return "".join(
        char if char.isprintable() or char == " " else "?" for char in " ".join(text.split())
    )


def _print_json(value: Any) -> None:
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:  # the terminal's encoding, or a file name that is no text
        text = json.dumps(value, indent=2, allow_nan=False)
    click.echo(text)
