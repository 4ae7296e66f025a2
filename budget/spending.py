"""What has been spent: by block from its attempts, and in all from the sessions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from budget.attempts import Attempt, Host, Measurements, gaps_s, unattributed_s
from budget.components import COMPONENTS, Component
from budget.figures import Figure, Input, Source, State, exact, missing, not_applicable, total
from budget.messages import msg
from budget.project import Block, Environment, Project


class SessionHours(msgspec.Struct, frozen=True, kw_only=True):
    """One reservation: reserved = attempts + waits + gaps, in hours; None where unknown."""

    session: str
    environment: str | None
    """The environment of the plan whose machine it ran on, where one agrees."""
    closed: bool
    reserved_h: float | None
    attempts_h: float
    waits_h: dict[str, float]
    gaps_h: float | None


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """All sessions together."""

    sessions: tuple[SessionHours, ...]
    reserved_h: Figure
    gpu_hours: Figure


def spending(project: Project, measurements: Measurements) -> Spending:
    """Return what the sessions in the logs have used so far."""
    rows, hours, gpu_hours = [], [], []
    for session in measurements.sessions:
        attempts = [item for item in measurements.attempts if item.session == session.id]
        environment = environment_of(project, session.host)
        waits: dict[str, float] = {}
        for wait in session.waits:
            if wait.duration_s is not None:
                waits[wait.reason] = waits.get(wait.reason, 0.0) + wait.duration_s / 3600
        gaps = gaps_s(session, attempts)
        reserved = session.reserved_s
        rows.append(
            SessionHours(
                session=session.id,
                environment=environment.id if environment else None,
                closed=session.closed,
                reserved_h=None if reserved is None else reserved / 3600,
                attempts_h=sum(item.duration_s or 0.0 for item in attempts) / 3600,
                waits_h=waits,
                gaps_h=None if gaps is None else gaps / 3600,
            )
        )
        name = msg("session {id}", id=session.id)
        if reserved is None:
            figure = missing("h", msg("the log has no times"))
        else:
            why = None if session.closed else msg("not closed: at least this long")
            figure = exact(reserved / 3600, "h", State.MEASURED, session.source, why=why)
        hours.append(Input(name, figure))
        gpus = len(session.host.gpus)
        if gpus == 0:
            used = not_applicable("gpu-hour", msg("not applicable: the machine has no GPU"))
        elif reserved is None:
            used = missing("gpu-hour", msg("the log has no times"))
        else:
            used = exact(reserved / 3600 * gpus, "gpu-hour", State.MEASURED, session.source)
        gpu_hours.append(Input(name, used))
    formula = msg("sum of the reserved time of {count} sessions", count=len(rows))
    return Spending(
        sessions=tuple(rows),
        reserved_h=total(hours, "h", formula),
        gpu_hours=total(gpu_hours, "gpu-hour", formula)
        if gpu_hours
        else not_applicable("gpu-hour", msg("nothing has been measured yet")),
    )


def environment_of(project: Project, host: Host) -> Environment | None:
    """Return the only environment of the plan whose machine agrees with a probed host, or None."""
    agreeing = [
        environment
        for environment in project.environments
        if environment.gpu_count == len(host.gpus)
        and (
            all(gpu.name == environment.gpu for gpu in host.gpus)
            if host.gpus
            else environment.ram_bytes == host.ram_bytes
        )
    ]
    return agreeing[0] if len(agreeing) == 1 else None


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
    figures: dict[Component, Figure] = {}
    for name in COMPONENTS:
        if name == "wait":
            figures[name] = not_applicable("h", msg("waits are measured per session"))
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
