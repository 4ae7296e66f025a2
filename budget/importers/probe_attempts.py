"""Attempts of a probe log, and what processes inside them wrote. Durations are seconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeVar

from budget.attempts import (
    Attempt,
    Call,
    Failure,
    Fragment,
    Outcomes,
    Part,
    Phase,
    Record,
    of_parts,
)
from budget.importers import records
from budget.importers.trail import Process, Trail
from budget.importers.trail import Record as Entry
from budget.messages import Quantity, msg

RecordT = TypeVar("RecordT", bound=Record)
INSIDE = ("phase.start", "phase.end", "call", "environment", "error", "result")
"""Events that a process inside an attempt may write; its fragment holds them."""
INNER_LAYERS = ("api", "hook")
HOOK_STATES = ("loaded", "idle", "not-loaded")

# Clocks of two processes and rounding may differ a little; more is a wrong unit.
PHASE_SLACK = 1.02

NO_ATTEMPT = msg("nothing to do, or start the command with `probe run` next time")


def read_attempts(trail: Trail) -> tuple[tuple[Attempt, ...], tuple[Fragment, ...]]:
    """Return the attempts that start in the file, and the fragments of any attempt."""
    attempts: list[Attempt] = []
    fragments: list[Fragment] = []
    for attempt_id, entries in trail.attempts.items():
        starts = _starts(attempt_id, entries)
        probes = {start.process for start in starts}
        writers: dict[Process, list[Entry]] = {}
        mine: dict[Process, list[Entry]] = {process: [] for process in probes}
        for entry in entries:
            inner = _layer(trail, entry) in INNER_LAYERS
            if entry.event not in INSIDE and not (entry.event == "session.start" and inner):
                continue
            if entry.process in probes and not inner:
                mine[entry.process].append(entry)
            else:
                writers.setdefault(entry.process, []).append(entry)
        inside = [_fragment(trail, attempt_id, trail.ordered(part)) for part in writers.values()]
        fragments.extend(inside)
        ends = [entry for entry in entries if entry.event == "attempt.end"]
        if starts:
            own = [_fragment(trail, attempt_id, trail.ordered(part)) for part in mine.values()]
            stated = _attempt(trail, starts[0], own)
            parts = [_part(trail, start, ends, entries, len(starts) == 1) for start in starts]
            attempt = of_parts(stated, parts)
            attempts.append(attempt)
            _check_phases(attempt, starts[0], (*own, *inside))
        elif ends:
            ends[0].fields.reject(
                msg("attempt {attempt} ends here, but its beginning is not in this file",
                    attempt=attempt_id),
                msg("upload the file that `probe end` wrote, or all files of its folder"),
            )  # fmt: skip
    _report_homeless(trail)
    return tuple(attempts), tuple(fragments)


def _starts(attempt_id: str, entries: list[Entry]) -> list[Entry]:
    """Return the start that each rank wrote; one rank, or a probe without one, begins once."""
    starts: dict[int | None, Entry] = {}
    for entry in entries:
        if entry.event != "attempt.start":
            continue
        if entry.rank in starts:
            entry.fields.reject(
                msg("attempt {attempt} begins a second time", attempt=attempt_id),
                msg("nothing to do: its first beginning counts"),
            )
        starts.setdefault(entry.rank, entry)
    return sorted(starts.values(), key=lambda entry: (entry.rank is None, entry.rank or 0))


def _part(
    trail: Trail, start: Entry, ends: list[Entry], entries: list[Entry], alone: bool
) -> Part:  # fmt: skip
    """Return what the probe of one rank says of its end; without one, its last sign of life."""
    own = ends if alone else [entry for entry in ends if entry.rank == start.rank]
    if not own:
        signs = (trail.seconds(start, entry) for entry in entries
                 if alone or entry.rank == start.rank)  # fmt: skip
        return Part(
            rank=start.rank,
            node=start.node,
            outcome=None,
            started_at=start.at,
            duration_s=max((sign for sign in signs if sign is not None), default=None),
            source=start.source,
            began=trail.sign([start]),
        )
    end = own[-1]
    fields = end.fields
    timed_out = fields.flag("timed_out") or False
    return Part(
        rank=start.rank,
        node=start.node,
        # What its time limit ended has failed, whatever signal did it.
        outcome="failed" if timed_out else records.outcome(fields),
        started_at=start.at,
        duration_s=fields.seconds("duration_s"),
        exit_code=fields.whole("exit_code", signed=True),
        signal=fields.text("signal"),
        timed_out=timed_out,
        memory=records.memory(fields.tables("memory"), trail.writer(end).limits, end.source,
                              start.rank, start.node),
        hook=fields.choice("hook", HOOK_STATES),
        hook_why=fields.text("hook_why"),
        devices_read_by=fields.text("devices_read_by"),
        devices_why=fields.text("devices_why"),
        probe_cpu_s=fields.seconds("probe_cpu_s"),
        source=start.source,
        end_source=end.source,
        began=trail.sign([start]),
    )  # fmt: skip


def _attempt(trail: Trail, start: Entry, own: list[Fragment]) -> Attempt:
    """Return what the start of an attempt states, and what its probes wrote inside it."""
    fields = start.fields
    role: Literal["trial", "campaign"] = "trial"
    if fields.choice("role", ("trial", "campaign")) == "campaign":
        role = "campaign"
    argv = fields.value("argv")
    return Attempt(
        id=start.attempt or "",
        session=start.session,
        block=fields.text("block"),
        role=role,
        outcome=None,
        started_at=start.at,
        duration_s=None,
        argv=(argv,) if isinstance(argv, str) else fields.texts("argv"),
        code=records.code(fields.table("code")),
        intended=records.intended(fields.table("condition")),
        host=trail.writer(start).host,
        software=next((part.software for part in own if part.software), None),
        phases=tuple(phase for part in own for phase in part.phases),
        calls=tuple(call for part in own for call in part.calls),
        failures=tuple(failure for part in own for failure in part.failures),
        results=tuple(result for part in own for result in part.results),
        retry_of=fields.text("retry_of"),
        expected=fields.pairs("expected"),
        variables=fields.pairs("variables"),
        repeat=records.repeat(fields.table("repeat")),
        source=start.source,
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
                                  end.source if end else start.source, start.rank, start.node),
            rank=start.rank,
            node=start.node,
            forward_calls=end.fields.whole("forward_calls") if end else None,
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
        rank=entry.rank,
        node=entry.node,
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
        cause=fields.text("cause"),
        line=fields.text("line"),
        layer=fields.text("layer"),
        rank=entry.rank,
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
