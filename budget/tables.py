"""What the command line prints for people: short lines, aligned where that helps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from budget.attempts import ImportedLog, Measurements
from budget.figures import Figure, State
from budget.wording import Wording
from budget.workflow import Assessment, summarise

if TYPE_CHECKING:
    from budget.scenarios import BreakEven, Comparison

WORDS = Wording()


def show_reading(logs: Sequence[ImportedLog], measurements: Measurements) -> None:
    """Print what each file holds and a line per attempt."""
    for log in logs:
        click.echo(
            f"{log.name}: {log.format}, {WORDS.text(summarise(log, ()))}, "
            f"{len(log.sessions)} sessions"
        )
    rows = [["attempt", "label", "outcome", "prepare", "load", "run", "wall", "line"]]
    for attempt in measurements.attempts:
        phases = [_seconds(attempt.phase_s(name)) for name in ("prepare", "load", "run")]
        rows.append(
            [
                attempt.id,
                attempt.block or "-",
                attempt.outcome or "no end",
                *phases,
                _seconds(attempt.duration_s),
                f"{attempt.source.name}:{attempt.source.line}",
            ]
        )
    if len(rows) > 1:
        _table(rows)


def show_estimates(result: Assessment) -> None:
    """Print the components of every block."""
    for item in result.estimates:
        click.echo(f"\n{item.block}: {WORDS.figure(item.remaining_h)}")
        rows = [["", "spent", "remaining", "state", "why"]]
        for name, figure in item.remaining.items():
            rows.append(
                [
                    name,
                    _short(item.spent[name]),
                    _short(figure),
                    str(figure.state),
                    WORDS.text(figure.why) if figure.why else "",
                ]
            )
        _table(rows)
        click.echo(f"  contingency: {WORDS.figure(item.contingency_h)}")
        click.echo(f"  peak memory: {WORDS.figure(item.peak_bytes)}")
        for note in item.notes:
            click.echo(f"  note: {WORDS.text(note)}")


def show_scenarios(result: Assessment, side_by_side: Comparison, rates: BreakEven) -> None:
    """Print the cost lines of every scenario."""
    for item in result.scenarios:
        example = " (example)" if item.example else ""
        click.echo(f"\n{WORDS.text(item.title)}: {WORDS.figure(item.total)}{example}")
        rows = [["line", "quantity", "rate", "amount", "quote"]]
        for line in item.lines:
            rows.append(
                [
                    WORDS.text(line.name),
                    _short(line.quantity),
                    _short(line.rate),
                    _short(line.amount),
                    line.quote or "-",
                ]
            )
        if len(rows) > 1:
            _table(rows)
        for need in item.needs:
            click.echo(f"  missing: {WORDS.text(need.what)}; {WORDS.text(need.do_next)}")
        for remark in item.remarks:
            click.echo(f"  note: {WORDS.text(remark)}")
    click.echo("")
    for text in side_by_side.statements if side_by_side.possible else ():
        click.echo(WORDS.text(text))
    for need in () if side_by_side.possible else side_by_side.needs:
        click.echo(f"no comparison yet: {WORDS.text(need.what)}")
    for rate in rates.rates:
        click.echo(f"renting wins below {WORDS.figure(rate.figure)}: {WORDS.text(rate.name)}")


def show_decision(result: Assessment) -> None:
    """Print the headline, the totals, the verdicts and what is missing."""
    decision = result.decision
    click.echo(
        f"{WORDS.text(decision.headline_text)}   [{decision.headline}, as of {decision.as_of}]"
    )
    click.echo(WORDS.text(decision.approve))
    click.echo("")
    rows = [["", "machine-hours", "GPU-hours", "cost"]]
    for name in ("spent", "remaining", "sum"):
        total = getattr(decision.totals, name)
        rows.append(
            [name, _short(total.machine_hours), _short(total.gpu_hours), _short(total.cost)]
        )
    _table(rows)
    for check in decision.checks:
        click.echo(f"  {check.name}: {check.outcome}: {WORDS.text(check.because)}")
    _list("remarks", map(WORDS.text, decision.remarks))
    _list("contradictions", map(WORDS.text, decision.contradictions))
    _list("go", decision.go)
    _list(
        "hold",
        (
            f"{hold.block}: {WORDS.text(hold.why)}; {WORDS.text(hold.do_next)}"
            for hold in decision.hold
        ),
    )
    _list(
        "missing",
        (
            f"{WORDS.text(need.what)}; {WORDS.text(need.do_next)} [{need.where}]"
            for need in decision.missing
        ),
    )
    click.echo("\nverdicts")
    _table(
        [
            [
                verdict.outcome,
                verdict.rule,
                verdict.block or "project",
                "; ".join(map(WORDS.text, verdict.because)),
            ]
            for verdict in decision.verdicts
        ]
    )


def _short(figure: Figure) -> str:
    if figure.state is State.MISSING and figure.part is None:
        return "missing"
    if not figure.known and figure.part is not None:
        return f"{_short(figure.part)} + missing"
    text = WORDS.figure(figure)
    return f"{text} example" if figure.state is State.EXAMPLE else text


def _seconds(value: float | None) -> str:
    return "-" if value is None else WORDS.quantity(value, "s")


def _list(title: str, items: Iterable[str]) -> None:
    lines = list(items)
    if lines:
        click.echo(f"\n{title}")
        for line in lines:
            click.echo(f"  {line}")


def _table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  " + "  ".join(cells).rstrip())
