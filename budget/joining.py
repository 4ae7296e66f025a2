"""Joining what several files say: each attempt, session and record once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

import msgspec

from budget.attempts import (
    Attempt,
    Change,
    Check,
    Fact,
    Fragment,
    ImportedLog,
    Measurements,
    Note,
    Phase,
    Session,
    Software,
    Wait,
    moment,
    of_parts,
)
from budget.figures import Source
from budget.messages import Problem, msg

FactT = TypeVar("FactT", bound=Fact)
RecordT = TypeVar("RecordT", bound=Change | Check | Note)


def combine(logs: Iterable[ImportedLog]) -> Measurements:
    """Join files: fragments to their attempts, and what stands in two files only once.

    The first file that holds the end of an attempt wins, else the first that holds its start. A
    fragment whose attempt is in no file is a problem that names what to upload.
    """
    sessions: dict[str, Session] = {}
    attempts: dict[str, Attempt] = {}
    fragments: list[Fragment] = []
    problems: list[Problem] = []
    repeated: dict[tuple[str, str], list[Attempt]] = {}
    without_attempt: list[ImportedLog] = []
    for log in logs:
        problems.extend(log.problems)
        for session in log.sessions:
            known = sessions.get(session.id)
            sessions[session.id] = session if known is None else _joined(known, session)
        for attempt in log.attempts:
            if attempt.id not in attempts:
                attempts[attempt.id] = attempt
                continue
            kept, left = attempts[attempt.id], attempt
            if {part.rank for part in left.parts} - {part.rank for part in kept.parts}:
                attempts[attempt.id] = _with_ranks(kept, left)
                continue
            if kept.parts and left.parts:
                attempts[attempt.id] = _with_ranks(kept, left)
                repeated.setdefault((left.source.name, kept.source.name), []).append(left)
                continue
            if kept.end_source is None and attempt.end_source is not None:
                attempts[attempt.id], kept, left = attempt, attempt, kept
            if kept.end_source is None:
                attempts[attempt.id] = _at_least(kept, left.duration_s)
            repeated.setdefault((left.source.name, kept.source.name), []).append(left)
        fragments.extend(log.fragments)
        if log.sessions and not log.attempts and not log.fragments:
            without_attempt.append(log)
    problems.extend(_repeated(left, file) for (_, file), left in repeated.items())
    problems.extend(
        Problem(
            log.name,
            msg("the file holds no attempt: no command was measured in it"),
            msg("measure one with `python3 probe.pyz run --block NAME -- COMMAND`"),
        )
        for log in without_attempt
        if not any(sessions[session.id].attempts for session in log.sessions)
    )
    for fragment in fragments:
        owner = attempts.get(fragment.attempt)
        if owner is None:
            where = next(iter(_sources(fragment)), None)
            problems.append(
                Problem(
                    f"{where.name}:{where.line}" if where else fragment.attempt,
                    msg("the start of attempt {attempt} is in no file", attempt=fragment.attempt),
                    msg("upload the file that `probe end` wrote, or all files of its folder"),
                )
            )
            continue
        attempts[owner.id] = _with_fragment(owner, fragment)
    ordered = sorted(attempts.values(), key=lambda item: (moment(item.started_at), item.id))
    return Measurements(
        sessions=tuple(sorted(sessions.values(), key=lambda s: (moment(s.started_at), s.id))),
        attempts=tuple(ordered),
        problems=tuple(problems),
    )


def _joined(first: Session, other: Session) -> Session:
    """Join what two files say of one session: the widest span, each record once."""
    starts = [item.started_at for item in (first, other) if item.started_at is not None]
    ends = [item.ended_at for item in (first, other) if item.ended_at is not None]
    closed = [item for item in (first, other) if item.closed]
    return msgspec.structs.replace(
        first,
        started_at=min(starts, default=None),
        ended_at=closed[0].ended_at if closed else max(ends, default=None),
        closed=bool(closed),
        attempts=tuple(dict.fromkeys((*first.attempts, *other.attempts))),
        host=max(
            (first.host, other.host), key=lambda host: (bool(host.gpus), host.gpu_count is not None)
        ),
        boot=first.boot or other.boot,
        waits=_waits_of(first, other),
        changes=_once(first.changes, other.changes),
        notes=_once(first.notes, other.notes),
        checks=_once(first.checks, other.checks),
        samples=_merged(first.samples, other.samples),
        nodes=tuple(sorted({*first.nodes, *other.nodes})),
    )


def _waits_of(first: Session, other: Session) -> tuple[Wait, ...]:
    """Return each wait once; where one file saw its end and the other did not, with its end."""
    waits: dict[tuple[str, datetime | None], Wait] = {}
    for wait in (*first.waits, *other.waits):
        known = waits.get((wait.reason, wait.started_at))
        if known is None or known.duration_s is None:
            waits[wait.reason, wait.started_at] = wait
    return tuple(waits.values())


def _once(mine: tuple[RecordT, ...], more: tuple[RecordT, ...]) -> tuple[RecordT, ...]:
    """Return all records; those that differ only in the file they were read from count once."""
    nowhere = Source("log", "")
    kept: dict[str, RecordT] = {}
    for item in (*mine, *more):
        kept.setdefault(repr(msgspec.structs.replace(item, source=nowhere)), item)
    return tuple(kept.values())


def _repeated(left: list[Attempt], file: str) -> Problem:
    """Return what is said of the attempts of one file that were already read from ``file``."""
    first = left[0]
    if len(left) == 1:
        return Problem(
            f"{first.source.name}:{first.source.line}",
            msg("attempt {attempt} was already read from {file}", attempt=first.id, file=file),
            msg("nothing to do: it counts once"),
        )
    return Problem(
        first.source.name,
        msg(
            "{count} attempts were already read from {file}; they count once",
            count=len(left),
            file=file,
        ),
        msg("nothing to do"),
    )


def _at_least(attempt: Attempt, duration_s: float | None) -> Attempt:
    """Return an attempt without an end as lasting at least ``duration_s``."""
    if duration_s is None or (attempt.duration_s or 0.0) >= duration_s:
        return attempt
    return msgspec.structs.replace(attempt, duration_s=duration_s)


def _with_ranks(kept: Attempt, left: Attempt) -> Attempt:
    """Join what two files say of the ranks of one attempt; of one rank, the file with its end."""
    parts = {part.rank: part for part in kept.parts}
    for part in left.parts:
        known = parts.get(part.rank)
        if known is None or (known.end_source is None and part.end_source is not None):
            parts[part.rank] = part
    first = kept if min(parts, key=_by_rank) in {part.rank for part in kept.parts} else left
    joined = msgspec.structs.replace(
        first,
        software=_with_torch(kept.software, left.software),
        phases=_merged(kept.phases, left.phases),
        calls=_merged(kept.calls, left.calls),
        failures=_merged(kept.failures, left.failures),
        results=_merged(kept.results, left.results),
    )
    return of_parts(joined, tuple(parts.values()))


def _by_rank(rank: int | None) -> tuple[bool, int]:
    return rank is None, rank or 0


def _with_fragment(attempt: Attempt, fragment: Fragment) -> Attempt:
    """Add what a child process wrote, leaving out what the attempt already has."""
    if attempt.end_source is None and attempt.began and fragment.last_seen:
        attempt = _at_least(attempt, attempt.began.seconds_to(fragment.last_seen))
    return msgspec.structs.replace(
        attempt,
        software=_with_torch(attempt.software, fragment.software),
        phases=_merged(attempt.phases, fragment.phases),
        calls=_merged(attempt.calls, fragment.calls),
        failures=_merged(attempt.failures, fragment.failures),
        results=_merged(attempt.results, fragment.results),
    )


def _with_torch(mine: Software | None, other: Software | None) -> Software | None:
    """Return the process that had torch: a launcher that only starts others has none."""
    return next((item for item in (mine, other) if item and item.torch), mine or other)


def _merged(mine: tuple[FactT, ...], more: tuple[FactT, ...]) -> tuple[FactT, ...]:
    """Return each fact once; a phase that one file cut off is taken from the file that did not."""
    facts = {fact.key: fact for fact in mine}
    for fact in more:
        known = facts.get(fact.key)
        if known is None or (isinstance(known, Phase) and not known.ended):
            facts[fact.key] = fact
    return tuple(facts.values())


def _sources(fragment: Fragment) -> Iterable[Source]:
    for group in (fragment.phases, fragment.calls, fragment.failures, fragment.results):
        for item in group:
            yield item.source
