"""The components of a block's hours: what was measured of each and how often it still happens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from budget.attempts import Attempt, unattributed_s
from budget.conditions import disagreement
from budget.figures import Figure, Input, Source, State, exact, missing, not_applicable, total
from budget.messages import Message, Quantity, msg
from budget.prediction import Prediction, predict_total
from budget.project import Block, Policy, Project, WaitReason

Component = Literal["prepare", "load", "run", "unattributed", "retry", "wait"]
COMPONENTS: tuple[Component, ...] = ("prepare", "load", "run", "unattributed", "retry", "wait")
REQUIRED_WAITS: tuple[WaitReason, ...] = ("decision", "fix", "files")
"""The waits every block must say something about; 0 is an answer."""

NAMES: dict[Component, Message] = {
    "prepare": msg("prepare"),
    "load": msg("load"),
    "run": msg("run"),
    "unattributed": msg("unattributed"),
    "retry": msg("retry"),
    "wait": msg("wait"),
}


class Basis(msgspec.Struct, frozen=True):
    """What one block's estimate is computed from."""

    block: Block
    policy: Policy
    attempts: tuple[Attempt, ...]
    """Attempts serving the block."""
    allocation: dict[str, str]
    further: int | None
    sessions: int | None
    """Planned sessions that have not been held yet."""
    counting: tuple[Attempt, ...] = ()
    """The serving attempts that count towards the planned runs."""
    reliefs: tuple[datetime, ...] = ()
    """Moments at which a person recorded a change or a wait for a fix."""

    @property
    def ok(self) -> list[Attempt]:
        """The serving attempts that succeeded."""
        return [attempt for attempt in self.attempts if attempt.outcome == "ok"]

    @property
    def runs(self) -> list[Attempt]:
        """Those of them that were runs; preparation alone is none."""
        return [attempt for attempt in self.attempts if attempt.succeeded]

    @property
    def starts(self) -> int | None:
        """How often a process of the block still has to start."""
        per_session = self.block.unit == "call" and self.block.load_per == "session"
        return self.sessions if per_session else self.further

    @property
    def separated(self) -> bool:
        """Whether any of the runs among them recorded phases."""
        return any(attempt.phases for attempt in self.ok if not attempt.without_run)


def run_samples(
    block: Block,
    attempts: Iterable[Attempt],
    allocation: dict[str, str],
) -> tuple[dict[str, list[float]], tuple[Source, ...]]:
    """Return the seconds of every measured unit by session, and the log lines they stand on."""
    groups: dict[str, list[float]] = {}
    sources: list[Source] = []
    for attempt in attempts:
        group = groups.setdefault(allocation.get(attempt.session, attempt.session), [])
        if block.unit == "call":
            timed = [call for call in attempt.counted_calls if call.duration_s is not None]
            group.extend(call.duration_s for call in timed if call.duration_s is not None)
            sources.extend(call.source for call in timed)
        elif (seconds := attempt.phase_s("run")) is not None:
            group.append(seconds)
            sources.extend(phase.source for phase in attempt.phases if phase.name == "run")
    return {name: group for name, group in groups.items() if group}, tuple(sources)


def comparable(block: Block, attempts: Sequence[Attempt]) -> Message | None:
    """Return why the attempts that serve a block must not be averaged; None when they may be.

    The condition match guarantees it; only attempts assigned by a person can disagree.
    """
    field = disagreement(attempts) if attempts else None
    if field is None:
        return None
    return msg(
        "the attempts assigned to {block} differ in {field}: exclude those that do not belong",
        block=block.id,
        field=msg(field),
    )


def counting(block: Block, serving: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts that count towards the plan: trials only where the block says so.

    Preparation alone is no run.
    """
    return tuple(
        attempt
        for attempt in serving
        if attempt.succeeded and (attempt.role == "campaign" or block.count_trials)
    )


def units_of(block: Block, attempts: Iterable[Attempt]) -> int:
    """Return how many units of the block these attempts were; preparation alone is none."""
    return sum(
        len(item.counted_calls) if block.unit == "call" else 1
        for item in attempts
        if not item.without_run
    )


def further_units(block: Block, serving: Sequence[Attempt]) -> int | None:
    """Return the planned units that have not been run yet; None while nobody planned a number."""
    if block.planned_runs is None:
        return None
    return max(0, block.planned_runs - units_of(block, counting(block, serving)))


def further_sessions(
    block: Block, serving: Sequence[Attempt], allocation: dict[str, str]
) -> int | None:
    """Return the planned sessions not held yet, one at least while units are left to run."""
    if block.sessions is None:
        return None
    held = {allocation.get(item.session, item.session) for item in counting(block, serving)}
    return max(1, block.sessions - len(held))


def is_part(basis: Basis, name: Component) -> bool:
    """Return whether a component is a part of its own in the sum.

    A load that no attempt marked happened all the same: its time stands in ``unattributed``, as
    does everything where no phase was recorded. Preparation that no attempt recorded is missing.
    """
    if not basis.ok or name in ("unattributed", "retry", "wait"):
        return True
    if name == "prepare":
        return basis.separated or any(attempt.without_run for attempt in basis.ok)
    return any(phase.name == name for attempt in basis.ok for phase in attempt.phases)


def remaining_hours(
    basis: Basis, name: Component, unlike: Message | None, project: Project
) -> Figure:
    block = basis.block
    if name == "retry":
        return not_applicable("h", msg("retries that may come are a contingency of their own"))
    if name == "wait" and basis.further != 0:
        return _declared_waits(basis, project)
    if basis.further is None:
        return missing("h", msg("planned runs of {block}: say how many", block=block.id))
    if basis.further == 0:
        plan = Source("plan", f"blocks.{block.id}.planned_runs")
        return exact(0.0, "h", State.PLANNED, plan, why=msg("all planned runs are done"))
    if name == "prepare" and not block.prepare.on_rented_machine:
        return not_applicable("h", msg("prepared elsewhere, not on this machine"))
    if unlike is not None:
        return missing("h", unlike)
    if not (basis.ok if name == "prepare" else basis.runs):
        return missing("h", no_attempt(block, basis.attempts))
    repeats = _repeats(basis, name)
    if repeats is None:
        return missing("h", msg("sessions of {block}: say how many are planned", block=block.id))
    if repeats == 0:
        plan = Source("plan", f"blocks.{block.id}.prepare")
        return exact(0.0, "h", State.PLANNED, plan, why=msg("the campaign has prepared it already"))
    groups, sources = _samples(basis, name)
    prediction = predict_total(
        list(groups.values()), repeats, basis.sessions or 1, basis.policy.range_level
    )
    if prediction is None:
        return missing("h", _not_recorded(basis, name))
    # How far sessions differ counts once per session: without their number there is no range.
    planned = basis.sessions is not None
    low, high = (prediction.low, prediction.high) if planned else (None, None)
    return Figure(
        value=prediction.mid / 3600,
        low=None if low is None else low / 3600,
        high=None if high is None else high / 3600,
        unit="h",
        state=State.MEASURED,
        n=prediction.n,
        k=prediction.k,
        why=_grade(prediction.n, prediction.k, basis.policy)
        if basis.sessions is not None or prediction.n == 1
        else msg("no range: say in how many sessions the runs are done"),
        formula=_formula(basis, prediction, repeats, ranged=low is not None),
        sources=sources,
    )


def _formula(basis: Basis, prediction: Prediction, repeats: int, *, ranged: bool) -> Message:
    counts = {"repeats": repeats, "n": prediction.n, "k": prediction.k}
    if not ranged:
        return msg("{repeats} x mean of {n} measured in {k} sessions", **counts)
    return msg(
        "{repeats} x mean of {n} measured in {k} sessions, {level} prediction of the total over "
        "{planned} planned sessions",
        level=Quantity(basis.policy.range_level, "share"),
        planned=basis.sessions,
        **counts,
    )


def _grade(n: int, k: int, policy: Policy) -> Message | None:
    if n == 1:
        return msg("measured once: a point, no range")
    if n < policy.decision_grade_units or k < policy.decision_grade_sessions:
        if k == 1:
            return msg(
                "n = {n} in one session: how much sessions differ is unknown; not decision-grade",
                n=n,
            )
        return msg("n = {n} in k = {k} sessions: not decision-grade", n=n, k=k)
    return None


def _repeats(basis: Basis, name: Component) -> int | None:
    """Return how often the component still happens."""
    block, further = basis.block, basis.further
    if name == "load":
        return further if block.load_per == "run" else basis.sessions
    if name == "prepare":
        campaign = [item for item in basis.ok if item.role == "campaign" or block.count_trials]
        prepared = any(item.phase_s("prepare") is not None for item in campaign)
        once = 0 if prepared else 1
        return {"block": once, "session": basis.sessions, "run": further}[block.prepare.per]
    return basis.starts if name == "unattributed" else further


def _samples(basis: Basis, name: Component) -> tuple[dict[str, list[float]], tuple[Source, ...]]:
    """Return the measured seconds of one component by session, and their log lines."""
    if name == "run":
        return run_samples(basis.block, basis.ok, basis.allocation)
    groups: dict[str, list[float]] = {}
    sources: list[Source] = []
    for attempt in basis.ok:
        if name == "unattributed":
            if attempt.without_run:
                continue
            seconds = unattributed_s(attempt)
            if seconds is not None and basis.block.unit == "call":
                # What the run phase did besides its calls happens once per process.
                calls = sum(call.duration_s or 0.0 for call in attempt.counted_calls)
                seconds += max(0.0, (attempt.phase_s("run") or 0.0) - calls)
        else:
            seconds = attempt.phase_s(name)
        if seconds is not None:
            groups.setdefault(basis.allocation.get(attempt.session, attempt.session), []).append(
                seconds
            )
            lines = [phase.source for phase in attempt.phases if phase.name == name]
            sources.extend(lines or [attempt.end_source or attempt.source])
    return groups, tuple(sources)


def no_attempt(block: Block, attempts: Sequence[Attempt]) -> Message:
    if any(not attempt.without_run for attempt in attempts):
        return msg(
            "every attempt of {block} failed: find out why, then measure again", block=block.id
        )
    return msg("no attempt has the condition of {block}: it needs its own trial", block=block.id)


def _not_recorded(basis: Basis, name: Component) -> Message:
    if name == "run" and basis.block.unit == "call":
        return msg("the log counts no calls: plan in attempts, or record calls")
    if not basis.separated:
        return not_separated(basis)
    if name == "prepare":
        return msg("no attempt recorded preparing: measure it, or say that it happens elsewhere")
    return msg("no attempt recorded this phase: its time is in unattributed")


def not_separated(basis: Basis) -> Message:
    """Return why no attempt of a block has phases: the hook's own reason where it has one."""
    reasons = [item.hook_why for item in basis.ok if item.hook == "not-loaded"]
    if reasons:
        return msg(
            "not separated: the hook did not load ({why}), so the time is unattributed",
            why=next((reason for reason in reasons if reason), msg("no reason recorded")),
        )
    return msg("not separated: the measured code recorded no phases, its time is unattributed")


def _declared_waits(basis: Basis, project: Project) -> Figure:
    block, parts = basis.block, []
    for reason in dict.fromkeys((*REQUIRED_WAITS, *block.waits_h)):
        hours = block.waits_h.get(reason)
        name = msg("wait for {reason}", reason=msg(reason))
        if hours is None:
            figure = missing("h", msg("say how long; 0 is an answer"))
        else:
            path = f"blocks.{block.id}.waits_h.{reason}"
            word = project.declared.get(path)
            figure = exact(
                hours,
                "h",
                State.DECLARED,
                Source(
                    "declared",
                    path,
                    on=word.on.isoformat() if word else None,
                    by=word.by if word else None,
                ),
            )
        parts.append(Input(name, figure))
    waits = total(parts, "h", msg("sum of the declared waits"))
    if not waits.known:
        lacking = tuple(item.name for item in parts if not item.figure.known)
        why = msg("{block}: {waits}: say how long; 0 is an answer", block=block.id, waits=lacking)
        part = waits.part and msgspec.structs.replace(
            waits.part, why=msg("without: {why}", why=why)
        )
        return msgspec.structs.replace(waits, why=why, part=part)
    if waits.known and waits.value and basis.counting:
        why = msg("as declared for the whole block; waits that happened are not taken off")
        return msgspec.structs.replace(waits, why=why)
    return waits
