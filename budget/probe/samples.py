"""What is read from outside while a command runs: windows for the log, peaks for its end."""

from __future__ import annotations

import contextlib
import time
from typing import Any, Dict, List, Optional, Union

from . import memory
from .devices import Devices
from .tree import Tree

Device = Union[str, int]

WINDOW_S = 30.0

# Loading changes memory fastest: the beginning is sampled more often, and so is any time after a
# rise by more than a 20th.
DENSE_S = 5.0
DENSE_INTERVAL_S = 0.2
RISE_BYTES = 64 * 2**20
RISE_SHARE = 20


class Series:
    """One quantity in one window."""

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0.0
        self.min = self.max = 0.0

    def add(self, value: float) -> None:
        self.min = min(self.min, value) if self.count else value
        self.max = max(self.max, value) if self.count else value
        self.sum += value
        self.count += 1

    def fields(self, whole: bool) -> Dict[str, Any]:
        mean = self.sum / self.count
        return {
            "min": self.min,
            "mean": int(mean) if whole else round(mean, 3),
            "max": self.max,
            "count": self.count,
        }


class Windows:
    """Collects samples of several devices and gives one record for each and window."""

    def __init__(self, length_s: float = WINDOW_S) -> None:
        self.length_s = length_s
        self._began = time.monotonic()
        self._series: Dict[Device, Dict[str, Series]] = {}

    def add(self, device: Device, **values: Optional[float]) -> None:
        """Take one sample; what is None was not told."""
        series = self._series.setdefault(device, {})
        for name, value in values.items():
            if value is not None:
                series.setdefault(name, Series()).add(value)

    def due(self) -> bool:
        return time.monotonic() - self._began >= self.length_s

    def close(self) -> List[Dict[str, Any]]:
        """The records of the window so far; a new window begins."""
        series, began = self._series, self._began
        self._series, self._began = {}, time.monotonic()
        window_s = round(self._began - began, 6)
        return [
            {
                "window_s": window_s,
                "device": device,
                **{name: one.fields(name.endswith("_bytes")) for name, one in quantities.items()},
            }
            for device, quantities in series.items()
            if quantities
        ]


class Peak:
    """The highest values of one card during the attempt."""

    def __init__(self) -> None:
        self.count = 0
        self.used_bytes: Optional[int] = None
        self.process_bytes: Optional[int] = None
        self.named = False


class Sampler:
    """Reads a command's processes and the cards, at the interval asked for or more often."""

    def __init__(self, devices: Optional[Devices], interval_s: float) -> None:
        self.devices = devices
        self.windows = Windows()
        self.count = 0
        self.peak_bytes: Optional[int] = None
        self._interval_s = interval_s
        self._dense_until = 0.0
        self._last: Dict[Device, int] = {}
        self._peaks: Dict[Device, Peak] = {}
        self._baseline: Dict[Device, Optional[int]] = {}
        for reading in devices.read() if devices is not None else []:
            self._baseline[reading.device] = reading.used_bytes

    def sample(self, tree: Tree) -> None:
        """Take one sample. Raises what the system raises where it lists no processes."""
        resident = tree.read()
        if resident.resident_bytes is not None:
            self.count += 1
            self.peak_bytes = max(resident.resident_bytes, self.peak_bytes or 0)
            self.windows.add("host", resident_bytes=resident.resident_bytes)
            self._watch_rise("host", resident.resident_bytes)
        for reading in self.devices.read() if self.devices is not None else []:
            peak = self._peaks.setdefault(reading.device, Peak())
            peak.count += 1
            if reading.used_bytes is not None:
                peak.used_bytes = max(reading.used_bytes, peak.used_bytes or 0)
                self._watch_rise(reading.device, reading.used_bytes)
            processes = reading.processes or {}
            own = [processes[pid] for pid in resident.pids if pid in processes]
            peak.named = peak.named or bool(own)
            sizes = [size for size in own if size is not None]
            # a process whose size is not told would make the sum too small
            if own and len(sizes) == len(own):
                peak.process_bytes = max(sum(sizes), peak.process_bytes or 0)
            self.windows.add(
                reading.device,
                memory_used_bytes=reading.used_bytes,
                utilisation_percent=reading.utilisation_percent,
                power_w=reading.power_w,
            )

    def interval_s(self) -> float:
        """Seconds to the next sample."""
        if time.monotonic() < self._dense_until:
            return min(self._interval_s, DENSE_INTERVAL_S)
        return self._interval_s

    def begin(self) -> None:
        """The command has started."""
        self._dense_until = time.monotonic() + DENSE_S

    def entries(self, counted_bytes: int) -> List[Dict[str, Any]]:
        """The `memory` of the attempt's end; `counted_bytes` is what the system itself counted."""
        peak_bytes = max(self.peak_bytes or 0, counted_bytes) or None
        entries = [_entry("host", self.count, resident_peak_bytes=peak_bytes)]
        for device, peak in self._peaks.items():
            entries.append(
                _entry(
                    device,
                    peak.count,
                    "process" if peak.named else "device",
                    device_peak_bytes=peak.used_bytes,
                    process_peak_bytes=peak.process_bytes,
                    baseline_bytes=self._baseline.get(device),
                )
            )
        return entries

    def close(self) -> None:
        if self.devices is not None:
            with contextlib.suppress(Exception):
                self.devices.close()

    def _watch_rise(self, device: Device, size_bytes: int) -> None:
        last = self._last.get(device)
        self._last[device] = size_bytes
        if last is not None and size_bytes - last > max(RISE_BYTES, last // RISE_SHARE):
            self._dense_until = time.monotonic() + DENSE_S


def _entry(
    device: Device, samples: int, attribution: Optional[str] = None, **measured: Optional[int]
) -> Dict[str, Any]:
    process_peak_bytes = measured.pop("process_peak_bytes", None)
    return {
        **memory.entry(device, "parent", False, **measured),
        "process_peak_bytes": process_peak_bytes,
        "attribution": attribution,
        "samples": samples,
    }
