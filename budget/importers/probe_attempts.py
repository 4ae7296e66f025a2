"""Attempts of a probe log, and what processes inside them wrote. Durations are seconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeVar

from budget.attempts import Attempt, Call, Failure, Fragment, Outcomes, Phase, Record
from budget.importers import records
from budget.importers.trail import Record as Entry
from budget.importers.trail import Trail
from budget.messages import Quantity, msg

RecordT = TypeVar("RecordT", bound=Record)
INSIDE = ("phase.start", "phase.end", "call", "environment", "error", "result")
"""Events that a process inside an attempt may write; its fragment holds them."""
INNER_LAYERS = ("api", "hook")

# Clocks of two processes and rounding may differ a little; more is a wrong unit.
PHASE_SLACK = 1.02

NO_ATTEMPT = msg("nothing to do, or start the command with `probe run` next time")


def read_attempts(trail: Trail) -> tuple[tuple[Attempt, ...], tuple[Fragment, ...]]:
    """Return the attempts that start in the file, and the fragments of any attempt."""
    attempts: list[Attempt] = []
    fragments: list[Fragment] = []
    for attempt_id, entries in trail.attempts.items():
        starts = [entry for entry in entries if entry.event == "attempt.start"]
        ends = [entry for entry in entries if entry.event == "attempt.end"]
        for extra in starts[1:]:
            extra.fields.reject(
                msg("attempt {attempt} begins a second time", attempt=attempt_id),
                msg("nothing to do: its first beginning counts"),
            )
        start = starts[0] if starts else None
        writers: dict[int | None, list[Entry]] = {}
        mine: list[Entry] = []
        for entry in entries:
            alive = entry.event == "session.start" and _layer(trail, entry) in INNER_LAYERS
            if entry.event not in INSIDE and not alive:
                continue
            if start is None or entry.pid != start.pid or _layer(trail, entry) == "api":
                writers.setdefault(entry.pid, []).append(entry)
            else:
                mine.append(entry)
        inner = [_fragment(trail, attempt_id, trail.ordered(part)) for part in writers.values()]
        fragments.extend(inner)
        if start is not None:
            own = _fragment(trail, attempt_id, trail.ordered(mine))
            attempt = _attempt(trail, start, ends[-1] if ends else None, entries, own)
            attempts.append(attempt)
            _check_phases(attempt, start, (own, *inner))
        elif ends:
            ends[0].fields.reject(
                msg("attempt {attempt} ends here, but its beginning is not in this file",
                    attempt=attempt_id),
                msg("upload the file that `probe end` wrote, or all files of its folder"),
            )  # fmt: skip
    _report_homeless(trail)
    return tuple(attempts), tuple(fragments)


def _attempt(trail: Trail, start: Entry, end: Entry | None, entries: list[Entry],
             own: Fragment) -> Attempt:  # fmt: skip
    fields = start.fields
    role: Literal["trial", "campaign"] = "trial"
    if fields.choice("role", ("trial", "campaign")) == "campaign":
        role = "campaign"
    argv = fields.value("argv")
    if end is not None:
        duration_s = end.fields.seconds("duration_s")
    else:
        signs = (trail.seconds(start, entry) for entry in entries)
        duration_s = max((sign for sign in signs if sign is not None), default=None)
    return Attempt(
        id=start.attempt or "",
        session=start.session,
        block=fields.text("block"),
        role=role,
        outcome=records.outcome(end.fields) if end else None,
        started_at=start.at,
        duration_s=duration_s,
        exit_code=end.fields.whole("exit_code", signed=True) if end else None,
        signal=end.fields.text("signal") if end else None,
        argv=(argv,) if isinstance(argv, str) else fields.texts("argv"),
        code=records.code(fields.table("code")),
        intended=records.intended(fields.table("condition")),
        host=trail.writer(start).host,
        software=own.software,
        phases=own.phases,
        calls=own.calls,
        memory=records.memory(end.fields.tables("memory"), trail.writer(end).limits, end.source)
        if end
        else (),
        failures=own.failures,
        results=own.results,
        retry_of=fields.text("retry_of"),
        began=trail.sign([start]),
        source=start.source,
        end_source=end.source if end else None,
    )


def _fragment(trail: Trail, attempt: str, entries: list[Entry]) -> Fragment:
    """Return what one process wrote. Of several environments the last one with a torch counts."""
    found = [records.software(entry.fields) for entry in entries if entry.event == "environment"]
    with_torch = [item for item in found if item.torch is not None] or found
    return Fragment(
        attempt=attempt,
        software=with_torch[-1] if with_torch else None,
        phases=tuple(_phases(trail, entries)),
        calls=tuple(_call(entry) for entry in entries if entry.event == "call"),
        failures=_known(_failure(entry) for entry in entries if entry.event == "error"),
        results=_known(_result(entry) for entry in entries if entry.event == "result"),
        last_seen=trail.sign(entries) if entries else None,
    )


def _phases(trail: Trail, entries: list[Entry]) -> Iterable[Phase]:
    """Pair starts and ends of one process; a start without an end is a phase it died in."""
    pairs: list[tuple[Entry, Entry | None]] = []
    for entry in entries:
        if entry.event == "phase.start":
            pairs.append((entry, None))
        elif entry.event == "phase.end":
            opened = [i for i, (start, end) in enumerate(pairs)
                      if end is None and start.event == "phase.start"
                      and start.fields.value("phase") == entry.fields.value("phase")]  # fmt: skip
            if opened:
                pairs[opened[-1]] = (pairs[opened[-1]][0], entry)
            else:
                pairs.append((entry, entry))
    for start, end in pairs:
        name = start.fields.text("phase")
        if not name:
            start.fields.reject(msg("a phase has no name"), msg("nothing to do"))
            continue
        said = end.fields if end else start.fields
        yield Phase(
            key=start.key,
            source=end.source if end else start.source,
            name=name,
            layer=said.text("layer") or _layer(trail, end or start),
            duration_s=end.fields.seconds("duration_s") if end else None,
            started_at=start.at if start.event == "phase.start" else None,
            ended=end is not None,
            outcome=records.outcome(end.fields) if end else None,
            memory=records.memory(said.tables("memory"), trail.writer(start).limits,
                                  end.source if end else start.source),
        )  # fmt: skip


def _call(entry: Entry) -> Call:
    fields = entry.fields
    return Call(
        key=entry.key,
        source=entry.source,
        duration_s=fields.seconds("duration_s"),
        input_tokens=fields.whole("input_tokens"),
        output_tokens=fields.whole("output_tokens"),
        batch_size=fields.whole("batch_size"),
        read_by=fields.text("read_by"),
    )


def _failure(entry: Entry) -> Failure:
    fields = entry.fields
    return Failure(
        key=entry.key,
        source=entry.source,
        kind=fields.text("kind") or records.UNKNOWN,
        signature=fields.text("signature"),
        text=fields.text("message"),
        phase=fields.text("phase"),
    )


def _result(entry: Entry) -> Outcomes | None:
    fields = entry.fields
    name = fields.text("name")
    if not name:
        fields.reject(msg("a result has no name"), msg("report it again with its name"))
        return None
    return Outcomes(key=entry.key, source=entry.source, name=name, value=fields.value("value"),
                    unit=fields.text("unit"), expected=fields.value("expected"))  # fmt: skip


def _known(found: Iterable[RecordT | None]) -> tuple[RecordT, ...]:
    return tuple(item for item in found if item is not None)


def _layer(trail: Trail, entry: Entry) -> str:
    """Return the layer of the process that wrote ``entry``; the record may speak for itself."""
    own = entry.fields.value("layer")
    return own if isinstance(own, str) else trail.writer(entry).layer or records.UNKNOWN


def _check_phases(attempt: Attempt, start: Entry, parts: Iterable[Fragment]) -> None:
    """Report phases that are longer than their attempt: most often a wrong unit."""
    if attempt.duration_s is None or attempt.outcome is None:
        return
    for part in parts:
        total_s = _covered_s(part.phases)
        if total_s > PHASE_SLACK * attempt.duration_s:
            start.fields.reject(
                msg("the phases of attempt {attempt} last {phases}, longer than the attempt itself"
                    " ({whole})", attempt=attempt.id, phases=Quantity(total_s, "s"),
                    whole=Quantity(attempt.duration_s, "s")),
                msg("check whether the measured code reports seconds; the values are kept"),
            )  # fmt: skip


def _covered_s(phases: Iterable[Phase]) -> float:
    """Return the seconds in any of the phases of one process; a nested phase counts once."""
    total_s, reached = 0.0, float("-inf")
    dated = [(phase.started_at.timestamp(), phase.duration_s or 0.0)
             for phase in phases if phase.started_at is not None]  # fmt: skip
    for start, length_s in sorted(dated):
        total_s += max(0.0, start + length_s - max(start, reached))
        reached = max(reached, start + length_s)
    return total_s + sum(phase.duration_s or 0.0 for phase in phases if phase.started_at is None)


def _report_homeless(trail: Trail) -> None:
    for entries in trail.sessions.values():
        for entry in entries:
            if entry.attempt is not None:
                continue
            if entry.event in ("attempt.start", "attempt.end"):
                entry.fields.reject(msg("an attempt has no id and is not counted"), NO_ATTEMPT)
            elif entry.event in INSIDE and entry.event != "environment":
                entry.fields.reject(
                    msg("the record ({event}) names no attempt and is not counted",
                        event=entry.event), NO_ATTEMPT)  # fmt: skip
