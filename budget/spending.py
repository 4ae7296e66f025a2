"""What has been spent: by block from its attempts, and in all from the sessions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from budget.agreement import same_machine
from budget.attempts import Attempt, Host, Measurements, Session, unattributed_s
from budget.components import COMPONENTS, Component
from budget.conditions import Service
from budget.figures import Figure, Input, Source, State, exact, missing, not_applicable, total
from budget.idle import HOST
from budget.messages import msg
from budget.project import Block, Environment, Project
from budget.sessions import Division, divide
from budget.spans import Span, length

NOTHING = msg("nothing has been measured yet: drop a log of the probe")


class SessionHours(msgspec.Struct, frozen=True, kw_only=True):
    """One reservation: reserved = attempts + waits + idle + gaps, in hours; None where unknown."""

    session: str
    environment: str | None
    """The environment of the plan whose machine it ran on, where one agrees."""
    closed: bool
    reserved_h: float | None
    attempts_h: float
    waits_h: dict[str, float]
    """Declared waits by reason."""
    idle_h: float | None = None
    """Undeclared time in which the cards held memory and ran nothing; None: no card was sampled."""
    gaps_h: float | None
    gaps_free_h: float | None = None
    """Of the gaps, the part in which samples saw the cards unused and empty."""
    gaps_used_h: float | None = None
    """Of the gaps, the part in which samples saw something run that was not measured."""
    idle_inside_h: float | None = None
    """Of the attempts, the part in which the cards held memory and ran nothing."""


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """All sessions together."""

    sessions: tuple[SessionHours, ...]
    reserved_h: Figure
    gpu_hours: Figure


def spending(
    project: Project, measurements: Measurements, services: Sequence[Service] = ()
) -> Spending:
    """Return what the sessions in the logs have used so far.

    Where several environments of the plan are the same machine, the blocks that a session served
    tell which one it was.
    """
    served = {item.attempt: item.block for item in services}
    rows, hours, gpu_hours = [], [], []
    for session in measurements.sessions:
        attempts = [item for item in measurements.attempts if item.session == session.id]
        blocks = [project.block(served.get(item.id)) for item in attempts]
        environment = environment_of(
            project, session.host, {block.environment for block in blocks if block}
        )
        reserved = session.reserved_s
        rows.append(_hours(session, environment, divide(session, attempts)))
        name = msg("session {id}", id=session.id)
        if reserved is None:
            figure = missing("h", msg("the log has no times"))
        else:
            why = None if session.closed else msg("not closed: at least this long")
            figure = exact(reserved / 3600, "h", State.MEASURED, session.source, why=why)
        hours.append(Input(name, figure))
        gpus = session.host.gpu_count
        if gpus is None:
            used = missing("gpu-hour", msg("the log does not say whether the machine has GPUs"))
        elif gpus == 0:
            used = not_applicable("gpu-hour", msg("not applicable: the machine has no GPU"))
        elif reserved is None:
            used = missing("gpu-hour", msg("the log has no times"))
        else:
            nodes = max(1, len(session.nodes))
            several = msg("{nodes} nodes of {gpus} GPUs", nodes=nodes, gpus=gpus)
            used = exact(
                reserved / 3600 * gpus * nodes,
                "gpu-hour",
                State.MEASURED,
                session.source,
                why=several if nodes > 1 else None,
            )
        gpu_hours.append(Input(name, used))
    formula = msg("sum of the reserved time of {count} sessions", count=len(rows))
    return Spending(
        sessions=tuple(rows),
        reserved_h=total(hours, "h", formula) if hours else missing("h", NOTHING),
        gpu_hours=total(gpu_hours, "gpu-hour", formula)
        if gpu_hours
        else missing("gpu-hour", NOTHING),
    )


def _hours(
    session: Session, environment: Environment | None, division: Division | None
) -> SessionHours:
    """Return a session's time as hours; without times there is nothing to divide."""

    def hours(spans: Sequence[Span]) -> float:
        return length(spans) / 3600

    name = environment.id if environment else None
    if division is None:
        return SessionHours(
            session=session.id,
            environment=name,
            closed=session.closed,
            reserved_h=None,
            attempts_h=0.0,
            waits_h={},
            gaps_h=None,
        )
    sampled = any(item.device != HOST for item in session.samples)
    return SessionHours(
        session=session.id,
        environment=name,
        closed=session.closed,
        reserved_h=hours([division.reserved]),
        attempts_h=hours(division.attempts),
        waits_h={reason: hours(spans) for reason, spans in division.waits.items()},
        idle_h=hours(division.idle) if sampled else None,
        gaps_h=hours(division.gaps),
        gaps_free_h=hours(division.gaps_free) if sampled else None,
        gaps_used_h=hours(division.gaps_used) if sampled else None,
        idle_inside_h=hours(division.idle_inside) if sampled else None,
    )


def environment_of(
    project: Project, host: Host, used: Collection[str | None] = ()
) -> Environment | None:
    """Return the environment of the plan whose machine a probed host is, None where none is.

    Where several agree, one of ``used`` is taken, and none when that leaves a choice.
    """
    agreeing = environments_of(project, host)
    if len(agreeing) > 1:
        agreeing = tuple(item for item in agreeing if item.id in used)
    return agreeing[0] if len(agreeing) == 1 else None


def environments_of(project: Project, host: Host) -> tuple[Environment, ...]:
    """Return every environment of the plan whose machine agrees with a probed host."""
    return tuple(item for item in project.environments if same_machine(item, host))


def spent_hours(
    block: Block,
    serving: Sequence[Attempt],
    meant: Sequence[Attempt],
) -> dict[Component, Figure]:
    """Return what the attempts of a block took so far. Waits belong to sessions, not to blocks."""
    seconds: dict[Component, float] = dict.fromkeys(COMPONENTS, 0.0)
    lines: dict[Component, list[Source]] = {name: [] for name in COMPONENTS}
    unknown: list[str] = []

    def add(name: Component, value: float | None, attempt: Attempt) -> None:
        if value is None:
            unknown.append(attempt.id)
        elif value:
            seconds[name] += value
            lines[name].append(attempt.end_source or attempt.source)

    for attempt in (*serving, *meant):
        if attempt.outcome != "ok":
            add("retry" if attempt.reached_run else "prepare", attempt.duration_s, attempt)
            continue
        for phase in ("prepare", "load", "run"):
            add(phase, attempt.phase_s(phase) or 0.0, attempt)
        add("unattributed", unattributed_s(attempt), attempt)
    marked = {phase.name for item in (*serving, *meant) for phase in item.phases}
    ran = any(item.outcome == "ok" for item in (*serving, *meant))
    unmarked = {"prepare", "load", "run"} - marked if ran else set()
    figures: dict[Component, Figure] = {}
    for name in COMPONENTS:
        if name == "wait":
            figures[name] = not_applicable("h", msg("waits are measured per session"))
        elif name in unmarked and not seconds[name]:
            figures[name] = not_applicable(
                "h", msg("not separated: no attempt recorded this phase, its time is unattributed")
            )
        elif unknown:
            figures[name] = missing(
                "h", msg("no duration in the log of {attempts}", attempts=tuple(unknown))
            )
        else:
            figures[name] = msgspec.structs.replace(
                exact(seconds[name] / 3600, "h", State.MEASURED, *lines[name]),
                formula=msg("sum over {count} attempts", count=len(lines[name])),
            )
    return figures
