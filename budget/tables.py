"""What the command line prints for people: short lines, aligned where that helps."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from budget.attempts import ImportedLog, Measurements
from budget.figures import Figure, State
from budget.messages import Message, msg
from budget.wording import Wording
from budget.workflow import Assessment, summarise

if TYPE_CHECKING:
    from budget.scenarios import BreakEven, Comparison

WORDS = Wording()
T = WORDS.text
WIDTH = 100
"""Columns where there is no terminal to ask."""
LEAST_WIDTH = 60
"""A narrower terminal wraps by itself."""
LEAST_LAST = 24
"""The last column of a table is wrapped down to this width and no further."""


def show_reading(logs: Sequence[ImportedLog], measurements: Measurements) -> None:
    """Print what each file holds and a line per attempt."""
    for log in logs:
        count = len(log.sessions)
        sessions = msg("1 session") if count == 1 else msg("{count} sessions", count=count)
        _say(f"{log.name}: {log.format}, {T(summarise(log, ()))}, {T(sessions)}")
    heads = (
        msg("attempt"),
        msg("label"),
        msg("outcome"),
        msg("prepare"),
        msg("load"),
        msg("run"),
        msg("wall"),
        msg("line"),
    )
    rows = [list(map(T, heads))]
    for attempt in measurements.attempts:
        phases = [_seconds(attempt.phase_s(name)) for name in ("prepare", "load", "run")]
        line = str(attempt.source.line)
        rows.append(
            [
                attempt.id,
                attempt.block or "-",
                attempt.outcome or T(msg("no end")),
                *phases,
                _seconds(attempt.duration_s),
                line if len(logs) == 1 else f"{attempt.source.name}:{line}",
            ]
        )
    if len(rows) > 1:
        _say("")
        _table(rows)


def show_estimates(result: Assessment) -> None:
    """Print the components of every block."""
    for index, item in enumerate(result.estimates):
        if index:
            _say("")
        _say(T(msg("{block}: remaining {hours}", block=item.block, hours=item.remaining_h)))
        rows = [["", T(msg("spent")), T(msg("remaining")), T(msg("state"))]]
        reasons: dict[Message, list[str]] = {}
        for name, figure in item.remaining.items():
            rows.append([T(name), _short(item.spent[name]), _short(figure), T(str(figure.state))])
            if figure.why is not None:
                reasons.setdefault(figure.why, []).append(name)
        _table(rows)
        for why, names in reasons.items():
            _point(T(msg("{components}: {why}", components=tuple(names), why=why)))
        _point(T(msg("contingency: {hours}", hours=item.contingency_h)))
        _point(T(msg("peak memory: {memory}", memory=item.peak_bytes)))
        for note in item.notes:
            _point(T(msg("note: {note}", note=note)))


def show_scenarios(result: Assessment, side_by_side: Comparison, rates: BreakEven) -> None:
    """Print the cost lines of every scenario."""
    for item in result.scenarios:
        example = f" ({T(msg('example'))})" if item.example else ""
        _say(f"{T(item.title)}: {WORDS.figure(item.total)}{example}")
        rows = [
            [
                T(msg("line")),
                T(msg("quantity")),
                T(msg("rate")),
                T(msg("amount")),
                T(msg("quote")),
            ]
        ]
        for line in item.lines:
            rows.append(
                [
                    T(line.name),
                    _brief(line.quantity),
                    _brief(line.rate),
                    _brief(line.amount),
                    line.quote or "-",
                ]
            )
        if len(rows) > 1:
            _table(rows)
        for need in item.needs:
            _point(T(msg("missing: {what}; {do_next}", what=need.what, do_next=need.do_next)))
        for remark in item.remarks:
            _point(T(msg("note: {note}", note=remark)))
        _say("")
    for text in side_by_side.statements if side_by_side.possible else ():
        _say(T(text))
    for need in () if side_by_side.possible else side_by_side.needs:
        _say(T(msg("no comparison yet: {what}", what=need.what)))
    for rate in rates.rates:
        _say(T(msg("renting wins below {rate}: {name}", rate=rate.figure, name=rate.name)))


def show_decision(result: Assessment) -> None:
    """Print the headline, the totals, the verdicts and what is missing."""
    decision = result.decision
    _say(T(decision.headline_text))
    _say(T(decision.approve))
    _say(f"[{decision.headline}, {T(msg('as of {day}', day=decision.as_of))}]")
    _say("")
    rows = [["", T(msg("machine-hours")), T(msg("GPU-hours")), T(msg("cost"))]]
    for name in ("spent", "remaining", "sum"):
        total = getattr(decision.totals, name)
        rows.append(
            [T(name), _short(total.machine_hours), _short(total.gpu_hours), _short(total.cost)]
        )
    _table(rows)
    for check in decision.checks:
        _point(
            T(
                msg(
                    "{check}: {outcome}: {because}",
                    check=msg(check.name),
                    outcome=msg(check.outcome),
                    because=check.because,
                )
            )
        )
    _list(msg("go"), decision.go)
    _list(
        msg("hold"),
        (
            T(
                msg(
                    "{block}: {why}; {do_next}",
                    block=hold.block,
                    why=hold.why,
                    do_next=hold.do_next,
                )
            )
            for hold in decision.hold
        ),
    )
    _list(
        msg("missing"),
        (
            T(
                msg(
                    "{what}; {do_next} [{where}]",
                    what=need.what,
                    do_next=need.do_next,
                    where=need.where,
                )
            )
            for need in decision.missing
        ),
    )
    _list(msg("contradictions"), map(T, decision.contradictions))
    _list(msg("remarks"), map(T, decision.remarks))
    _say("")
    _say(T(msg("verdicts")))
    _table(
        [
            [
                T(verdict.outcome),
                verdict.rule,
                verdict.block or T(msg("project")),
                "; ".join(map(T, verdict.because)),
            ]
            for verdict in decision.verdicts
        ]
    )


def _short(figure: Figure) -> str:
    """Return a figure for a table: what is missing is said elsewhere why."""
    return _cell(figure, WORDS.figure(figure))


def _brief(figure: Figure) -> str:
    """Return a figure for a table without its counts."""
    if not figure.known:
        return _short(figure)
    text, span = WORDS.quantity(figure.value, figure.unit), WORDS.range(figure)
    return _cell(figure, f"{text} ({span})" if span else text)


def _cell(figure: Figure, text: str) -> str:
    if figure.state is State.NOT_APPLICABLE:
        return text
    if not figure.known:
        part = figure.part
        if part is None or not part.upper:
            return T(msg("missing"))
        return T(msg("{known} + missing", known=_short(part)))
    return T(msg("{amount} example", amount=text)) if figure.state is State.EXAMPLE else text


def _seconds(value: float | None) -> str:
    return "-" if value is None else WORDS.quantity(value, "s")


def _list(title: Message, items: Iterable[str]) -> None:
    lines = list(items)
    if lines:
        _say("")
        _say(T(title))
        for line in lines:
            _point(line)


def _width() -> int:
    if not sys.stdout.isatty():  # a file or a pipe gets the same text everywhere
        return WIDTH
    return max(LEAST_WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


def _wrapped(text: str, width: int) -> list[str]:
    """Return lines of at most ``width``; names are never broken."""
    return (
        textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        if len(text) > width
        else [text]
    )


def _say(text: str) -> None:
    for line in _wrapped(text, _width()):
        click.echo(line)


def _point(text: str) -> None:
    """Print one item of a list; what does not fit its line stands further in."""
    first, *rest = _wrapped(text, _width() - 4)
    click.echo(f"  {first}")
    for line in rest:
        click.echo(f"    {line}")


def _table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns; the last column is wrapped within itself."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    room = max(LEAST_LAST, _width() - 2 - sum(width + 2 for width in widths[:-1]))
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        first, *rest = _wrapped(row[-1], room)
        click.echo(("  " + "  ".join((*cells[:-1], first))).rstrip())
        for line in rest:
            click.echo("  " + " " * sum(width + 2 for width in widths[:-1]) + line)
