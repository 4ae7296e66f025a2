"""Memory of a stretch of time, from counters that are read and never reset."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .. import memory
from .state import state


class Cuda(NamedTuple):
    """What the allocator of one card counts for this process, in bytes."""

    tensor_now: int
    tensor_peak: int
    reserved_now: int
    reserved_peak: int


class Reading(NamedTuple):
    """The counters of this process at one moment, by torch's index of the card."""

    resident: memory.Resident
    cuda: Dict[int, Cuda]


NOTHING_READ = Reading(memory.Resident(None, None), {})
UNUSED = Cuda(0, 0, 0, 0)


def read() -> Reading:
    """Read every counter."""
    return Reading(memory.own(), read_cuda())


def read_cuda() -> Dict[int, Cuda]:
    """The counters of the cards this process has used; never starts CUDA."""
    torch = sys.modules.get("torch")
    try:
        if torch is None or not torch.cuda.is_initialized():
            return {}
        return {device: card(torch.cuda, device) for device in range(torch.cuda.device_count())}
    except Exception:
        # a torch that is being imported, or whose context died with the error being recorded
        return {}


def card(cuda: Any, device: int) -> Cuda:
    """The counters of one card, all of one moment where torch can say so."""
    try:
        stats = cuda.memory_stats_as_nested_dict(device)
        tensors, reserved = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]
        return Cuda(
            int(tensors["current"]),
            int(tensors["peak"]),
            int(reserved["current"]),
            int(reserved["peak"]),
        )
    except (AttributeError, KeyError):
        # an older torch, or an allocator that keeps less
        return Cuda(
            int(cuda.memory_allocated(device)),
            int(cuda.max_memory_allocated(device)),
            int(cuda.memory_reserved(device)),
            int(cuda.max_memory_reserved(device)),
        )


class Reset(NamedTuple):
    """What the program's own resets took from a card's counters during a stretch.

    `first` is what they showed before the first reset; `later` the highest that they reached
    between two resets: tensors, then reserved.
    """

    first: Cuda
    later: Tuple[int, int]


class Stretch:
    """A stretch of time whose memory is measured; it must be closed."""

    def __init__(self, began: Optional[Reading] = None) -> None:
        self.began = read() if began is None else began
        self.ended = self.began
        self.resets: Dict[int, Reset] = {}
        # since the last reading: they may come after the end of the stretch
        self.later_resets: Dict[int, Reset] = {}
        _open.append(self)

    def note(self, ended: Optional[Reading] = None) -> None:
        """Read the counters, as the end of the stretch so far."""
        self.ended = read() if ended is None else ended
        for device, reset in self.later_resets.items():
            known = _folded(self.resets.get(device), reset.first)
            self.resets[device] = Reset(known.first, _highest(known.later, reset.later))
        self.later_resets = {}

    def close(self) -> None:
        """Stop following the program's resets."""
        if self in _open:
            _open.remove(self)

    def entries(self, layer: str) -> List[Dict[str, Any]]:
        """The `memory` list."""
        entries = [_host_entry(self.began.resident, self.ended.resident, layer)]
        for device, end in self.ended.cuda.items():
            reset = self.resets.get(device)
            # this process never used the card; a worker may have, which its own file then says
            if end.reserved_peak == 0 and reset is None:
                continue
            start = self.began.cuda.get(device, UNUSED)
            tensor, tensor_exact = peak(start[:2], end[:2], _part(reset, 0))
            reserved, reserved_exact = peak(start[2:], end[2:], _part(reset, 1))
            entries.append(
                memory.entry(
                    driver_index(device),
                    layer,
                    tensor_exact and reserved_exact,
                    tensor_peak_bytes=tensor,
                    allocator_peak_bytes=reserved,
                )
            )
        return entries

    def entries_at_most_now(self, layer: str) -> List[Dict[str, Any]]:
        """The same of a stretch that ended some time after its last reading.

        What rose since then may have risen after the end: the last reading is then a lower bound.
        """
        known = self.entries(layer)
        self.note()
        by_now = {entry["device"]: entry for entry in self.entries(layer)}
        return [
            by_now[entry["device"]]
            if _peaks(entry) == _peaks(by_now[entry["device"]])
            else {**entry, "exact": False}
            for entry in known
        ]


def _folded(known: Optional[Reset], before: Cuda) -> Reset:
    """What resets took, and what one more takes."""
    if known is None:
        return Reset(before, (0, 0))
    return Reset(known.first, _highest(known.later, (before.tensor_peak, before.reserved_peak)))


def _highest(one: Tuple[int, int], other: Tuple[int, int]) -> Tuple[int, int]:
    return max(one[0], other[0]), max(one[1], other[1])


def _peaks(entry: Dict[str, Any]) -> List[Any]:
    return [value for name, value in sorted(entry.items()) if name.endswith("_peak_bytes")]


_open: List[Stretch] = []


def before_reset(device: int, cuda: Any) -> None:
    """To be called before the program resets the peaks of a card."""
    if _open:
        before = card(cuda, device)
        for stretch in list(_open):
            known = stretch.later_resets.get(device)
            stretch.later_resets[device] = _folded(known, before)


def forget() -> None:
    """In a forked child: its parent's stretches are not its own."""
    del _open[:]


# In use now and the peak; and what one counter lost by resets: now, peak, highest later.
Count = Tuple[int, ...]
Lost = Tuple[int, int, int]


def peak(start: Count, end: Count, lost: Optional[Lost]) -> Tuple[int, bool]:
    """The peak of a stretch, and whether it is exact.

    A counter that did not rise bounds the stretch only from above. It is exact all the same when
    that much is in use at one end. After a reset within the stretch, a counter speaks of nothing
    but the stretch.
    """
    if lost is None:
        return _unbroken(start, end)
    first, is_exact = _unbroken(start, lost[:2])
    since = max(lost[2], end[1])
    # the part before the first reset reached at most what its counter showed
    is_exact = is_exact or since >= lost[1]
    return max(first, since), is_exact


def _unbroken(start: Count, end: Count) -> Tuple[int, bool]:
    if end[1] > start[1]:
        return end[1], True
    in_use = max(start[0], end[0])
    return in_use, in_use == end[1]


def _part(reset: Optional[Reset], which: int) -> Optional[Lost]:
    if reset is None:
        return None
    return (*reset.first[2 * which : 2 * which + 2], reset.later[which])  # type: ignore[return-value]


def _host_entry(before: memory.Resident, after: memory.Resident, layer: str) -> Dict[str, Any]:
    """The peak of the process counts for the stretch only if it rose in it."""
    if after.peak_bytes is not None and after.peak_bytes > (before.peak_bytes or 0):
        return memory.entry("host", layer, True, resident_peak_bytes=after.peak_bytes)
    lower_bound = max(before.now_bytes or 0, after.now_bytes or 0) or None
    return memory.entry("host", layer, False, resident_peak_bytes=lower_bound)


def driver_index(device: int) -> int:
    """The driver's index of a card, which differs from torch's when only some are visible."""
    try:
        found = str(sys.modules["torch"].cuda.get_device_properties(device).uuid)
        for listed in state.log.start["gpus"] if state.log else []:
            if listed["uuid"] and listed["uuid"].lower().endswith(found.lower()):
                return int(listed["index"])
    except Exception:
        # an older torch names no uuid
        pass
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    if device < len(visible) and visible[device].strip().isdigit():
        return int(visible[device])
    return device
