"""From blocks and attempts to hours per component, each with range, counts and reason.

Units are counted, never scaled: only attempts of the block's own condition speak for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from budget.attempts import Attempt, Measurements, Memory
from budget.components import (
    COMPONENTS,
    NAMES,
    Basis,
    Component,
    comparable,
    counting,
    further_sessions,
    further_units,
    is_part,
    no_attempt,
    remaining_hours,
    run_samples,
)
from budget.conditions import Service
from budget.figures import (
    Figure,
    Input,
    Source,
    State,
    exact,
    missing,
    not_applicable,
    product,
    total,
)
from budget.messages import Message, msg
from budget.project import Block, Project
from budget.retries import contingency, reliefs_of
from budget.sessions import allocations
from budget.spending import spent_hours

NO_BASELINE = msg("no memory was read before the start: what others used is in it")
"""Stands beside a device peak from which no baseline could be taken off."""
RANKS_APART = msg("of the rank with the highest peak: the host holds all ranks at once")
"""Stands beside a host peak of several ranks, each measured by a probe of its own."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Hours of one block. Every figure is in machine-hours (``h``) unless it says otherwise."""

    block: str
    environment: str | None
    serving: tuple[str, ...]
    """Ids of the attempts it rests on."""
    units: Figure
    """Planned units still to run (``attempt`` or ``call``)."""
    spent: dict[Component, Figure]
    remaining: dict[Component, Figure]
    spent_h: Figure
    remaining_h: Figure
    total_h: Figure
    gpu_hours_used: Figure
    """Remaining hours times the GPUs the block uses (``gpu-hour``)."""
    gpu_hours_billed: Figure
    """Remaining hours times the GPUs of the machine (``gpu-hour``)."""
    contingency_h: Figure
    """Retries expected on the remaining runs; apart, never inside the totals."""
    peak_bytes: Figure
    """Highest peak memory of the serving attempts (``bytes``)."""
    run_s: tuple[tuple[float, ...], ...]
    """Measured seconds per unit, grouped by session, in order of time."""
    sessions: int | None
    notes: tuple[Message, ...] = ()


def estimate(
    project: Project,
    measurements: Measurements,
    services: Sequence[Service],
) -> tuple[Estimate, ...]:
    """Estimate every block of the plan, in its order; a block without runs has missing figures."""
    reliefs = reliefs_of(measurements.sessions)
    by_id = {attempt.id: attempt for attempt in measurements.attempts}
    allocation = allocations(measurements.sessions, project.policy.session_merge_h)
    serving: dict[str, list[Attempt]] = {block.id: [] for block in project.blocks}
    meant: dict[str, list[Attempt]] = {block.id: [] for block in project.blocks}
    for service in services:
        attempt = by_id[service.attempt]
        if service.block in serving:
            serving[service.block].append(attempt)
        elif service.by == "nobody" and attempt.block in meant:
            meant[attempt.block].append(attempt)
    return tuple(
        _estimate(
            project, block, tuple(serving[block.id]), tuple(meant[block.id]), allocation, reliefs
        )
        for block in project.blocks
    )


def _estimate(
    project: Project,
    block: Block,
    serving: tuple[Attempt, ...],
    meant: tuple[Attempt, ...],
    allocation: dict[str, str],
    reliefs: tuple[datetime, ...],
) -> Estimate:
    further = further_units(block, serving)
    sessions = further_sessions(block, serving, allocation)
    basis = Basis(
        block,
        project.policy,
        serving,
        allocation,
        further,
        sessions,
        counting(block, serving),
        reliefs,
    )
    unlike = comparable(block, basis.runs)
    remaining = {name: remaining_hours(basis, name, unlike, project) for name in COMPONENTS}
    remaining_h = total(
        [Input(NAMES[name], figure) for name, figure in remaining.items() if is_part(basis, name)],
        "h",
        msg("sum of the components of {block}, still to come", block=block.id),
    )
    spent = spent_hours(block, serving, meant)
    spent_h = total(
        [Input(NAMES[name], figure) for name, figure in spent.items()],
        "h",
        msg("sum of what the attempts of {block} took", block=block.id),
    )
    environment = project.environment(block.environment)
    machine_gpus = environment.gpu_count if environment else None
    run_s = run_samples(block, basis.ok, allocation)[0]
    return Estimate(
        block=block.id,
        environment=block.environment,
        serving=tuple(attempt.id for attempt in serving),
        units=_units(block, further),
        spent=spent,
        remaining=remaining,
        spent_h=spent_h,
        remaining_h=remaining_h,
        total_h=total(
            [Input(msg("spent"), spent_h), Input(msg("remaining"), remaining_h)],
            "h",
            msg("spent + remaining"),
        ),
        gpu_hours_used=_gpu_hours(remaining_h, block.gpus, machine_gpus, block),
        gpu_hours_billed=_gpu_hours(remaining_h, machine_gpus, machine_gpus, block),
        contingency_h=contingency(basis, run_s, spent),
        peak_bytes=_peak(basis, machine_gpus),
        run_s=tuple(tuple(group) for group in run_s.values()),
        sessions=sessions,
        notes=_notes(basis, unlike),
    )


def _units(block: Block, further: int | None) -> Figure:
    plan = Source("plan", f"blocks.{block.id}.planned_runs")
    if further is None:
        return missing(block.unit, msg("planned runs of {block}: say how many", block=block.id))
    return exact(further, block.unit, State.PLANNED, plan)


def peak_bytes(memory: Memory, *, with_gpus: bool) -> int | None:
    """Return the peak that one memory record shows of the device that counts, None for another.

    With GPUs it is what the device layer saw less the baseline before the start (all of it where
    no baseline was read); without, the resident memory of the process tree.
    """
    if not with_gpus:
        return memory.resident_peak_bytes if memory.device == "host" else None
    if memory.device_peak_bytes is None:
        return None
    return memory.device_peak_bytes - (memory.baseline_bytes or 0)


def _side_by_side(attempt: Attempt, memory: Memory) -> bool:
    return memory.device == "host" and len(attempt.parts) > 1


def _peak(basis: Basis, machine_gpus: int | None) -> Figure:
    """Return the highest peak of the serving attempts on the device that counts."""
    if machine_gpus is None:
        return missing(
            "bytes", msg("the machine of {block} is not described", block=basis.block.id)
        )
    peaks: list[tuple[int, Source, Attempt]] = []
    unsettled = apart = False
    for attempt in basis.ok:
        for memory in attempt.memory:
            peak = peak_bytes(memory, with_gpus=machine_gpus > 0 and not attempt.host.unified)
            if peak is None:
                continue
            unsettled = unsettled or (memory.device != "host" and memory.baseline_bytes is None)
            line = memory.source or attempt.end_source or attempt.source
            peaks.append((peak, line, attempt))
    if not peaks:
        layer = (
            msg("no device layer measured memory")
            if machine_gpus
            else msg("no layer measured resident memory")
        )
        return missing(
            "bytes",
            msg(
                "peak memory of {block}: {layer}",
                block=basis.block.id,
                layer=layer if basis.ok else no_attempt(basis.block, basis.attempts),
            ),
        )
    value, source, _ = max(peaks, key=lambda item: item[0])
    seen = {attempt.id: attempt for _, _, attempt in peaks}
    return Figure(
        value=value,
        unit="bytes",
        state=State.MEASURED,
        n=len(seen),
        k=len({basis.allocation.get(a.session, a.session) for a in seen.values()}),
        why=NO_BASELINE if unsettled else RANKS_APART if apart else None,
        formula=msg("highest of {n} attempts", n=len(seen)),
        sources=(source,),
    )


def _gpu_hours(hours: Figure, gpus: int | None, machine_gpus: int | None, block: Block) -> Figure:
    if machine_gpus == 0:
        return not_applicable("gpu-hour", msg("not applicable: the machine has no GPU"))
    if gpus is None:
        return missing("gpu-hour", msg("GPUs of {block}: say how many", block=block.id))
    count = exact(gpus, "gpu", State.PLANNED, Source("plan", f"blocks.{block.id}.gpus"))
    return product(
        Input(msg("machine-hours"), hours),
        Input(msg("GPUs"), count),
        "gpu-hour",
        msg("machine-hours x GPUs"),
    )


def _notes(basis: Basis, unlike: Message | None) -> tuple[Message, ...]:
    notes: list[Message] = []
    if unlike is not None:
        notes.append(unlike)
    if basis.runs and not basis.separated:
        notes.append(msg("the measured code recorded no phases: prepare, load and run are one"))
        reasons = [item.hook_why for item in basis.runs if item.hook == "not-loaded"]
        if reasons:
            why = next((reason for reason in reasons if reason), msg("no reason recorded"))
            notes.append(msg("the hook did not load: {why}", why=why))
    if basis.runs and not any(attempt.calls for attempt in basis.runs):
        notes.append(msg("the log counts no calls: the sizes really processed are not verified"))
    if any(phase.layer == "api" for attempt in basis.ok for phase in attempt.phases):
        notes.append(msg("phases were marked by the measured code itself (layer api)"))
    shared = max((len({call.rank for call in item.calls}) for item in basis.runs), default=0)
    if shared > 1 and basis.block.unit == "call":
        notes.append(
            msg(
                "{count} ranks recorded calls, those of one count: where the ranks share the calls "
                "among them, the hours are too high",
                count=shared,
            )
        )
    return tuple(notes)
