"""Parts of the probe's records as the product's own structs: host, memory, code, condition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import msgspec

from budget.attempts import (
    Code,
    Gpu,
    Host,
    Instance,
    Intended,
    Memory,
    Outcome,
    Repeat,
    Software,
    Spread,
)
from budget.figures import Source
from budget.importers.fields import Fields
from budget.messages import Quantity, msg

OUTCOMES = ("ok", "failed", "interrupted")
LAYERS = ("parent", "hook", "api")
ATTRIBUTIONS = ("process", "device")
HOST = "host"
UNKNOWN = "unknown"


def host(start: Fields) -> tuple[Host, dict[str, int]]:
    """Return the host of a ``session.start`` and the memory bytes of each of its devices."""
    machine = start.table("host")
    gpus = [_gpu(position, item) for position, item in enumerate(start.tables("gpus"))]
    gpus.sort(key=lambda gpu: gpu.index or 0)
    read = Host(
        os=machine.text("os"),
        cpu=machine.text("cpu"),
        cpu_count=machine.whole("cpu_count"),
        ram_bytes=machine.size("ram_bytes"),
        python=machine.text("python"),
        driver=driver(start),
        driver_cuda=start.text("driver_cuda"),
        nvcc=start.text("nvcc"),
        gpus=tuple(gpus),
        gpus_read_by=start.text("gpus_read_by"),
        gpus_why=start.text("gpus_why"),
    )
    limits = {str(gpu.index): gpu.memory_bytes for gpu in gpus if gpu.memory_bytes}
    for instance in (item for gpu in gpus for item in gpu.instances):
        if instance.index and instance.memory_bytes:
            limits[instance.index] = instance.memory_bytes
    if read.ram_bytes:
        limits[HOST] = read.ram_bytes
    return read, limits


def _gpu(position: int, item: Fields) -> Gpu:
    index = item.whole("index")
    instances = tuple(
        Instance(
            index=part.text("index"),
            uuid=part.text("uuid"),
            profile=part.text("profile"),
            memory_bytes=part.size("memory_bytes"),
        )
        for part in item.tables("mig_devices")
    )
    profiles = {part.profile for part in instances}
    return Gpu(
        index=position if index is None else index,
        name=item.text("name"),
        uuid=item.text("uuid"),
        memory_bytes=item.size("memory_bytes"),
        compute_capability=item.text("compute_capability"),
        mig_profile=item.text("mig_profile") or (profiles.pop() if len(profiles) == 1 else None),
        unified=item.flag("unified"),
        ecc=item.flag("ecc"),
        persistence=item.flag("persistence"),
        mig=item.flag("mig"),
        instances=instances,
    )


def driver(start: Fields) -> str | None:
    """Return the driver's version, which may stand alone or beside that of its CUDA."""
    if isinstance(start.value("driver"), dict):
        return start.table("driver").text("version")
    return start.text("driver")


def memory(
    items: Iterable[Fields],
    limits: dict[str, int],
    source: Source,
    rank: int | None = None,
    node: int | None = None,
) -> tuple[Memory, ...]:
    """Return the peaks of a list; one that its device cannot hold is a problem and missing.

    ``limits`` are the memory bytes of the devices. What a whole device held is only believed of
    a record that says which layer measured it, and on which GPU.
    """
    return tuple(
        msgspec.structs.replace(_peaks(item, limits, source), rank=rank, node=node)
        for item in items
    )


def _peaks(item: Fields, limits: dict[str, int], source: Source) -> Memory:
    device = item.text("device") or UNKNOWN
    layer = item.choice("layer", LAYERS)
    device_peak = _peak(item, "device_peak_bytes", limits.get(device))
    if device_peak is not None and (layer is None or device in (HOST, UNKNOWN)):
        item.reject(msg("device_peak_bytes stands there without a GPU or without the layer that"
                        " measured it"))  # fmt: skip
        device_peak = None
    return Memory(
        device=device,
        layer=layer or UNKNOWN,
        tensor_peak_bytes=_peak(item, "tensor_peak_bytes", limits.get(device)),
        allocator_peak_bytes=_peak(item, "allocator_peak_bytes", limits.get(device)),
        device_peak_bytes=device_peak,
        # Resident memory is the host's, also where it stands beside the peaks of a GPU.
        resident_peak_bytes=_peak(item, "resident_peak_bytes", limits.get(HOST)),
        process_peak_bytes=_peak(item, "process_peak_bytes", limits.get(device)),
        attribution=item.choice("attribution", ATTRIBUTIONS),
        baseline_bytes=_peak(item, "baseline_bytes", limits.get(device)),
        exact=item.flag("exact") or False,
        source=source,
    )


def _peak(item: Fields, key: str, limit: int | None) -> int | None:
    value = item.size(key)
    if value is not None and limit is not None and value > limit:
        item.reject(msg("{field} is {value}, more than the {limit} of memory there are",
                        field=key, value=Quantity(value, "bytes"),
                        limit=Quantity(limit, "bytes")))  # fmt: skip
        return None
    return value


def code(item: Fields) -> Code:
    """Return the version of the measured code."""
    return Code(
        commit=item.text("commit"), dirty=item.flag("dirty"), diff_hash=item.text("diff_hash")
    )


def intended(item: Fields) -> Intended:
    """Return the condition that the attempt was started for."""
    return Intended(
        model=item.text("model"),
        input_tokens=item.whole("input_tokens"),
        output_tokens=item.whole("output_tokens"),
        batch_size=item.whole("batch_size"),
        parameters=item.pairs("parameters"),
    )


def repeat(item: Fields) -> Repeat | None:
    """Return which of the repetitions asked for this is."""
    number, of = item.whole("number"), item.whole("of")
    return None if number is None or of is None else Repeat(number=number, of=of)


def spread(item: Fields, key: str, most: float | None = None) -> Spread | None:
    """Return the samples of one quantity in one window; None where the device tells nothing.

    A value above ``most`` is none that the device can have: a problem, and missing.
    """
    if item.value(key) is None:
        return None
    part = item.table(key)
    low, mean, high = part.number("min"), part.number("mean"), part.number("max")
    count = part.whole("count")
    if low is None or mean is None or high is None or not count:
        return None
    if most is not None and high > most:
        item.reject(msg("{field} is {value}, more than there can be", field=key, value=high))
        return None
    return Spread(low=low, mean=mean, high=high, count=count)


def software(item: Fields) -> Software:
    """Return what the process had loaded."""
    return Software(
        torch=item.text("torch"),
        cuda=item.text("cuda"),
        arch_list=item.texts("arch_list"),
        libraries=item.pairs("libraries"),
    )


def outcome(item: Fields) -> Outcome | None:
    """Return how an attempt or a phase ended."""
    return cast("Outcome | None", item.choice("outcome", OUTCOMES))
