"""What one attempt or one block reads like beside its measurements: peak memory, time per unit."""

from __future__ import annotations

import msgspec

from budget.attempts import Attempt, Measurements
from budget.components import comparable
from budget.estimates import NO_BASELINE, RANKS_APART, Estimate, peak_bytes
from budget.figures import Figure, State, missing
from budget.messages import msg
from budget.project import Block


class Peak(msgspec.Struct, frozen=True, kw_only=True):
    """Peak memory of one attempt on the device that counts, and that device's memory."""

    figure: Figure
    limit_bytes: int | None
    layer: str | None
    """Which layer measured it; None where none did."""
    gpu: bool


def peak(attempt: Attempt) -> Peak:
    """Return the highest peak of an attempt, by the rule of ``estimates.peak_bytes``."""
    gpus = () if attempt.host.unified else attempt.host.gpus
    if gpus:
        limit = min((item.usable_bytes for item in gpus if item.usable_bytes), default=None)
        lacking = msg("no device layer measured memory")
        if attempt.devices_why:
            lacking = msg("no device layer measured memory: {why}", why=attempt.devices_why)
    else:
        limit = attempt.host.ram_bytes
        lacking = msg("no layer measured resident memory")
    found = [
        (value, item)
        for item in attempt.memory
        if (value := peak_bytes(item, with_gpus=bool(gpus))) is not None
    ]
    if not found:
        return Peak(figure=missing("bytes", lacking), limit_bytes=limit, layer=None, gpu=bool(gpus))
    value, memory = max(found, key=lambda pair: pair[0])
    limit = attempt.host.memory_of(memory.device) or limit
    apart = memory.device == "host" and len(attempt.parts) > 1
    source = memory.source or attempt.end_source or attempt.source
    figure = Figure(
        value=value,
        unit="bytes",
        state=State.MEASURED,
        why=NO_BASELINE
        if gpus and memory.baseline_bytes is None
        else RANKS_APART
        if apart
        else None,
        sources=(source,),
    )
    return Peak(figure=figure, limit_bytes=limit, layer=memory.layer, gpu=bool(gpus))


def run_per_unit(block: Block, measurements: Measurements, item: Estimate) -> Figure:
    """Return the mean seconds of one unit of a block, with the estimate's range per unit.

    The range is that of the mean over the planned units. Unlike attempts are never averaged.
    """
    ok = [one for one in measurements.attempts if one.id in item.serving and one.outcome == "ok"]
    unlike, run = comparable(block, ok), item.remaining["run"]
    if unlike is not None or not item.run_s:
        return missing("s", unlike or run.why or msg("no unit was measured"))
    means = [sum(group) / len(group) for group in item.run_s]
    low = high = None
    if run.low is not None and run.high is not None and item.units.value:
        share = 3600 / float(item.units.value)
        low, high = float(run.low) * share, float(run.high) * share
    return Figure(
        value=sum(means) / len(means),
        low=low,
        high=high,
        unit="s",
        state=State.MEASURED,
        n=sum(len(group) for group in item.run_s),
        k=len(item.run_s),
        why=run.why,
        formula=msg("mean of what was measured; range of the mean over the planned units"),
        sources=run.sources,
    )
