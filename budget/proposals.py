"""Environments and blocks proposed from what was measured, for a person to complete.

Only what the logs state is filled in. How many runs are planned, the sessions and the waits stay
missing: no log knows them.
"""

from __future__ import annotations

import re

import msgspec

from budget.attempts import Attempt, Measurements
from budget.conditions import match, version_text
from budget.project import Block, Condition, Environment, Kind, Project
from budget.spending import environments_of

KINDS: dict[str, Kind] = {
    "reference": "reference",
    "comparison": "comparison",
    "extension": "extension",
    "verification": "verification",
}


def propose(project: Project, measurements: Measurements) -> Project:
    """Return the project with an environment and a block for every measured condition it lacks.

    A block that exists is never changed, and attempts whose label names one propose nothing: how
    they differ is for a person to settle.
    """
    settled = {block.id for block in project.blocks}
    for attempt in measurements.attempts:
        if not attempt.succeeded or attempt.block in settled:
            continue
        project = _with_environment(project, attempt)
        if not _served(project, attempt) and not _proposed(project, attempt):
            project = _with_block(project, attempt)
    return project


def _proposed(project: Project, attempt: Attempt) -> bool:
    """Return whether a block states all that this log states, though too little to tell a match."""
    place = _place(project, attempt)
    return any(
        block.condition == _condition(attempt) and block.environment == place
        for block in project.blocks
    )


def _place(project: Project, attempt: Attempt) -> str | None:
    found = environments_of(project, attempt.host)
    return found[0].id if len(found) == 1 else None


def _served(project: Project, attempt: Attempt) -> bool:
    return any(
        match(block, project.environment(block.environment), attempt, project.policy).outcome
        == "match"
        for block in project.blocks
    )


def _with_environment(project: Project, attempt: Attempt) -> Project:
    host, software = attempt.host, attempt.software
    if environments_of(project, host):
        return project
    gpu = next((item for item in host.gpus), None)
    label = (
        f"{len(host.gpus)} x {gpu.name}"
        if gpu
        else f"{host.cpu_count or '?'} cores, {host.cpu or 'CPU'}"
    )
    environment = Environment(
        id=_free_id(
            _slug(gpu.name if gpu and gpu.name else "cpu-host"),
            {item.id for item in project.environments},
        ),
        label=label,
        os=host.os,
        gpu=gpu.name if gpu else None,
        gpu_count=host.gpu_count,
        gpu_memory_bytes=host.size_of(gpu) if gpu else None,
        mig_profile=gpu.mig_profile if gpu else None,
        driver=host.driver,
        ram_bytes=host.ram_bytes,
        torch=software.torch if software else None,
        cuda=software.cuda if software else None,
    )
    return msgspec.structs.replace(project, environments=(*project.environments, environment))


def _with_block(project: Project, attempt: Attempt) -> Project:
    condition = _condition(attempt)
    label = attempt.block or "block"
    block = Block(
        id=_free_id(_slug(label), {item.id for item in project.blocks}),
        title=", ".join([label, *(f"{k} {v}" for k, v in condition.parameters.items())]),
        kind=KINDS.get(label, "reference"),
        status="chosen",
        environment=_place(project, attempt),
        gpus=attempt.host.gpu_count,
        condition=condition,
    )
    return msgspec.structs.replace(project, blocks=(*project.blocks, block))


def _condition(attempt: Attempt) -> Condition:
    intended = attempt.intended
    return Condition(
        code=version_text(attempt),
        model=intended.model,
        input_tokens=intended.input_tokens,
        output_tokens=intended.output_tokens,
        batch_size=intended.batch_size,
        parameters=dict(intended.parameters),
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:40] or "item"


def _free_id(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(
        f"{wanted}-{number}" for number in range(2, 10_000) if f"{wanted}-{number}" not in taken
    )
