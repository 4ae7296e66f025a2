"""The JSON output of the command line: public interface, keys may be added, never renamed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from budget.attempts import Attempt, ImportedLog, Measurements, Session
from budget.conditions import Service
from budget.estimates import Estimate
from budget.failures import cause_of
from budget.figures import Figure, Source
from budget.messages import Message, Problem
from budget.project import Project
from budget.sessions import divide
from budget.spans import length
from budget.wording import Wording

if TYPE_CHECKING:
    from budget.costs import Need, Scenario
    from budget.decisions import Decision, Total
    from budget.facts import Verdict
    from budget.scenarios import Check

_MONEY = re.compile(r"[A-Z]{3}(/|\Z)")
WORDS = Wording()
"""JSON is read by programs: its texts are the English sources."""


def text(message: Message | None) -> str | None:
    """Return a message in English, None for none."""
    return None if message is None else WORDS.text(message)


def texts(messages: Iterable[Message]) -> str:
    """Return several messages as one text."""
    return "; ".join(WORDS.text(message) for message in messages)


def figure(item: Figure) -> dict[str, Any]:
    """Return a figure with its whole explanation under ``from``. Money is text."""
    result: dict[str, Any] = {
        "value": number(item.value, item.unit),
        "low": number(item.low, item.unit),
        "high": number(item.high, item.unit),
        "unit": item.unit,
        "state": str(item.state),
        "n": item.n,
        "k": item.k,
        "why": text(item.why),
        "from": {
            "formula": text(item.formula),
            "inputs": [
                {"name": text(given.name), "figure": figure(given.figure)} for given in item.inputs
            ],
            "sources": [source(given) for given in item.sources],
        },
    }
    if item.part is not None:
        result["part"] = {key: value for key, value in figure(item.part).items() if key != "from"}
    return result


def number(value: Any, unit: str = "") -> Any:
    """Return a number as JSON writes it: money as text, because it is exact."""
    if value is not None and _MONEY.match(unit):
        return format(value if isinstance(value, Decimal) else Decimal(str(value)), "f")
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def source(item: Source) -> dict[str, Any]:
    """Return where a value comes from."""
    return {key: value for key, value in msgspec.structs.asdict(item).items() if value is not None}


def problem(item: Problem) -> dict[str, Any]:
    """Return a problem in words."""
    return {"where": item.where, "what": text(item.what), "do_next": text(item.do_next)}


def log(item: ImportedLog) -> dict[str, Any]:
    """Return which importer read a file and what it found."""
    return {
        "file": item.name,
        "format": item.format,
        "attempts": len(item.attempts),
        "sessions": len(item.sessions),
        "problems": [problem(given) for given in item.problems],
    }


def attempt(item: Attempt, service: Service | None) -> dict[str, Any]:
    """Return an attempt; quantities carry their unit in the key."""
    result: dict[str, Any] = {
        "attempt": item.id,
        "session": item.session,
        "label": item.block,
        "role": item.role,
        "outcome": item.outcome,
        "duration_s": item.duration_s,
        "phases_s": {name: item.phase_s(name) for name in ("prepare", "load", "run")},
        "layers": {name: list(item.layers_of(name)) for name in ("prepare", "load", "run")},
        "calls": len(item.counted_calls),
        "ranks": list(item.ranks),
        "timed_out": item.timed_out,
        "hook": item.hook,
        "hook_why": item.hook_why,
        "devices_read_by": item.devices_read_by,
        "devices_why": item.devices_why,
        "repeat": msgspec.to_builtins(item.repeat),
        "retry_of": item.retry_of,
        "results": [
            {"name": given.name, "value": given.value, "unit": given.unit, "expected": expected}
            for given, expected in item.judged_results()
        ],
        "memory": [msgspec.to_builtins(memory) for memory in item.memory],
        "failures": [
            {
                "kind": given.kind,
                "message": given.text,
                "phase": given.phase,
                "cause": cause.id if (cause := cause_of(given)) else None,
                "advice": cause.advice if cause else None,
                "line": given.source.line,
            }
            for given in item.failures
        ],
        "line": item.source.line,
        "file": item.source.name,
    }
    if service is not None:
        result["serves"] = service.block
        result["by"] = service.by
        result["why"] = text(service.why)
    return result


def session(item: Session, attempts: Sequence[Attempt] = ()) -> dict[str, Any]:
    """Return a session, and where its reserved time went."""
    division = divide(item, attempts)
    return {
        "session": item.id,
        "host": msgspec.to_builtins(item.host),
        "started_at": item.started_at.isoformat() if item.started_at else None,
        "ended_at": item.ended_at.isoformat() if item.ended_at else None,
        "closed": item.closed,
        "reserved_s": item.reserved_s,
        "waits": [{"reason": wait.reason, "duration_s": wait.duration_s} for wait in item.waits],
        "idle_s": length(division.idle) if division else None,
        "gaps_s": length(division.gaps) if division else None,
        "gaps_free_s": length(division.gaps_free) if division else None,
        "gaps_used_s": length(division.gaps_used) if division else None,
        "samples": len(item.samples),
        "checks": [
            {"name": check.name, "passed": check.passed, "said": check.said}
            for check in item.checks
        ],
        "changes": [
            {
                "kind": change.kind,
                "what": change.what,
                "from": change.before,
                "to": change.after,
                "reason": change.reason,
                "layer": change.layer,
            }
            for change in item.changes
        ],
        "notes": [note.text for note in item.notes],
    }


def reading(logs: Sequence[ImportedLog], measurements: Measurements) -> dict[str, Any]:
    """Return what ``read`` prints."""
    return {
        "files": [log(item) for item in logs],
        "sessions": [session(item, measurements.attempts) for item in measurements.sessions],
        "attempts": [attempt(item, None) for item in measurements.attempts],
        "problems": [problem(item) for item in measurements.problems],
    }


def estimate(item: Estimate, project: Project) -> dict[str, Any]:
    """Return one block's estimate, component by component."""
    block = project.block(item.block)
    samples = [value for group in item.run_s for value in group]
    return {
        "block": item.block,
        "status": block.status if block else None,
        "state": block.state if block else None,
        "environment": item.environment,
        "serving": list(item.serving),
        "n": len(samples),
        "k": len(item.run_s),
        "units": figure(item.units),
        "components": {
            name: {"spent": figure(item.spent[name]), "remaining": figure(item.remaining[name])}
            for name in item.remaining
        },
        "spent": figure(item.spent_h),
        "remaining": figure(item.remaining_h),
        "total": figure(item.total_h),
        "gpu_hours_used": figure(item.gpu_hours_used),
        "gpu_hours_billed": figure(item.gpu_hours_billed),
        "contingency": figure(item.contingency_h),
        "peak_bytes": figure(item.peak_bytes),
        "notes": [text(note) for note in item.notes],
    }


def need(item: Need) -> dict[str, Any]:
    """Return something missing: what, on which page, and what to do."""
    return {"what": text(item.what), "where": item.where, "do_next": text(item.do_next)}


def scenario(item: Scenario) -> dict[str, Any]:
    """Return the cost lines of one way to get the machine."""
    return {
        "scenario": item.kind,
        "title": text(item.title),
        "covers": list(item.covers),
        "hours": figure(item.hours),
        "gpu_hours_used": figure(item.gpu_hours_used),
        "gpu_hours_billed": figure(item.gpu_hours_billed),
        "lines": [
            {
                "name": text(line.name),
                "quantity": figure(line.quantity),
                "rate": figure(line.rate),
                "amount": figure(line.amount),
                "quote": line.quote,
                "remarks": [text(remark) for remark in line.remarks],
            }
            for line in item.lines
        ],
        "total": figure(item.total),
        "example": item.example,
        "missing": [need(given) for given in item.needs],
        "remarks": [text(remark) for remark in item.remarks],
    }


def verdict(item: Verdict) -> dict[str, Any]:
    """Return a rule's answer."""
    return {
        "rule": item.rule,
        "block": item.block,
        "outcome": item.outcome,
        "because": texts(item.because),
        "do_next": text(item.do_next),
        "contradiction": text(item.contradiction),
        "figures": [
            {"name": text(given.name), "figure": figure(given.figure)} for given in item.figures
        ],
        "sources": [source(given) for given in item.sources],
    }


def check(item: Check) -> dict[str, Any]:
    """Return whether the plan fits the deadline or the cap."""
    return {
        "check": item.name,
        "outcome": item.outcome,
        "because": text(item.because),
        "do_next": text(item.do_next),
    }


def decision(item: Decision, estimates: Sequence[Estimate], project: Project) -> dict[str, Any]:
    """Return what ``decide`` prints."""
    return {
        "as_of": item.as_of.isoformat(),
        "headline": item.headline,
        "headline_text": text(item.headline_text),
        "approve": text(item.approve),
        "go": list(item.go),
        "hold": [
            {"block": hold.block, "why": text(hold.why), "do_next": text(hold.do_next)}
            for hold in item.hold
        ],
        "missing": [need(given) for given in item.missing],
        "verdicts": [verdict(given) for given in item.verdicts],
        "blocks": [estimate(given, project) for given in estimates],
        "totals": {
            name: total(getattr(item.totals, name)) for name in ("spent", "remaining", "sum")
        },
        "checks": [check(given) for given in item.checks],
        "remarks": [text(remark) for remark in item.remarks],
        "contradictions": [text(given) for given in item.contradictions],
    }


def total(item: Total) -> dict[str, Any]:
    """Return one of the three totals."""
    return {
        "machine_hours": figure(item.machine_hours),
        "gpu_hours": figure(item.gpu_hours),
        "cost": figure(item.cost),
        "scenario": item.scenario,
    }
