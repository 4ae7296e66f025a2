"""The NVIDIA driver's library (NVML), called through ctypes.

Names, codes and structures are those of `nvml.h`. It serves the process that opened it alone, and
is left open: a driver that stays loaded is asked again at once.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .process_list import (
    LONGEST_ENTRY_BYTES,
    PROCESS_LISTS,
    PROCESSES,
    UNTOUCHED,
    processes,
    size_bytes,
)

# Names another library, in place of those below.
LIBRARY_VARIABLE = "COMPUTE_BUDGET_PROBE_NVML"
LIBRARIES = ("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1")

SUCCESS = 0
NOT_SUPPORTED = 3
NO_PERMISSION = 4
INSUFFICIENT_SIZE = 7
FUNCTION_NOT_FOUND = 13
ARGUMENT_VERSION_MISMATCH = 25
NO_SUCH_VERSION = (FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH)

UNKNOWN_NUMBER = 2**32 - 1

TEXT_BYTES = 96
# Upper 8 bits: version of the structure; lower 24: its size, here five fields of 8 bytes.
MEMORY_V2 = 2 << 24 | 40

NO_CARD = "NVML names no card"
PROFILE = re.compile(r"\bMIG\s+(\S+)")


class Unloadable(Exception):
    """There is no such library here."""


class Failed(Exception):
    """The library is there and does not serve; the text says why."""


class Card(NamedTuple):
    """A card by the driver's index of it; without handle, as of a lost one, it tells nothing."""

    number: int
    handle: Any


class Memory(NamedTuple):
    """In bytes, None if not told. `unified`: card and host share one memory, counted as host's."""

    total_bytes: Optional[int]
    used_bytes: Optional[int]
    unified: Optional[bool]


_opened: Dict[int, "Library"] = {}


def library() -> "Library":
    """This process's library, opened once. Raises Unloadable or Failed.

    Takes seconds where the driver has to be started for it.
    """
    if os.getpid() not in _opened:
        _opened[os.getpid()] = Library()
    return _opened[os.getpid()]


class Library:
    """Asks the driver; what it does not tell is None. Handles come from `cards`."""

    def __init__(self) -> None:
        import ctypes

        self._c = ctypes
        self._functions = _load()
        code = self._ask(("nvmlInit_v2", "nvmlInit"))
        if code != SUCCESS:
            raise Failed("NVML failed: {}".format(self._error(code)))

    def driver(self) -> Optional[str]:
        """Version of the driver."""
        return self._text("nvmlSystemGetDriverVersion")

    def driver_cuda(self) -> Optional[str]:
        """The newest CUDA version that the driver serves: 12040 is 12.4."""
        version = self._c.c_int()
        names = ("nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2")
        if self._ask(names, self._c.byref(version)) != SUCCESS or version.value <= 0:
            return None
        return "{}.{}".format(version.value // 1000, version.value % 1000 // 10)

    def cards(self) -> List[Card]:
        """The cards that this process may see. Raises Failed if they cannot be counted."""
        number = self._c.c_uint()
        names = ("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount")
        code = self._ask(names, self._c.byref(number))
        if code != SUCCESS:
            raise Failed("NVML failed: {}".format(self._error(code)))
        cards = []
        for index in range(number.value):
            handle = self._c.c_void_p()
            names = ("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex")
            code = self._ask(names, self._c.c_uint(index), self._c.byref(handle))
            # a scheduler hides the cards of other jobs
            if code != NO_PERMISSION:
                cards.append(Card(index, handle if code == SUCCESS else None))
        return cards

    def mig(self, handle: Any) -> Optional[bool]:
        """Whether the card is cut into instances."""
        modes = self._pair("nvmlDeviceGetMigMode", handle)
        return None if modes is None else modes[0] == 1

    def instances(self, handle: Any) -> List[Tuple[int, Any]]:
        """Number and handle of a card's instances; empty without MIG."""
        most = self._number("nvmlDeviceGetMaxMigDeviceCount", handle) if self.mig(handle) else None
        instances = []
        for number in range(most or 0):
            instance = self._c.c_void_p()
            names = ("nvmlDeviceGetMigDeviceHandleByIndex",)
            code = self._ask(names, handle, self._c.c_uint(number), self._c.byref(instance))
            if code == SUCCESS:
                instances.append((number, instance))
        return instances

    def name(self, handle: Any) -> Optional[str]:
        return self._text("nvmlDeviceGetName", handle)

    def profile(self, handle: Any) -> Optional[str]:
        """The profile of an instance, such as `1g.10gb`, which its name ends with."""
        match = PROFILE.search(self.name(handle) or "")
        return match.group(1) if match else None

    def uuid(self, handle: Any) -> Optional[str]:
        return self._text("nvmlDeviceGetUUID", handle)

    def compute_capability(self, handle: Any) -> Optional[str]:
        version = self._pair("nvmlDeviceGetCudaComputeCapability", handle)
        return "{}.{}".format(*version) if version else None

    def ecc(self, handle: Any) -> Optional[bool]:
        """Whether error correction is on."""
        modes = self._pair("nvmlDeviceGetEccMode", handle)
        return None if modes is None else modes[0] == 1

    def persistence(self, handle: Any) -> Optional[bool]:
        """Whether the driver stays loaded between programs."""
        mode = self._number("nvmlDeviceGetPersistenceMode", handle)
        return None if mode is None else mode == 1

    def memory(self, handle: Any) -> Memory:
        """Memory of a card or instance.

        Version 2 does not count what the driver itself reserves, version 1 does.
        """
        fields = (self._c.c_ulonglong * 5)(MEMORY_V2)
        code = self._of(handle, ("nvmlDeviceGetMemoryInfo_v2",), fields)
        total, used = fields[1], fields[4]
        if code in (*NO_SUCH_VERSION, NOT_SUPPORTED):
            code = self._of(handle, ("nvmlDeviceGetMemoryInfo",), fields)
            total, used = fields[0], fields[2]
        if code != SUCCESS:
            return Memory(None, None, True if code == NOT_SUPPORTED else None)
        total_bytes = size_bytes(total) or None
        return Memory(total_bytes, size_bytes(used), False if total_bytes else None)

    def utilisation_percent(self, handle: Any) -> Optional[float]:
        """Share of the driver's last period (1/6 s to 1 s) in which any kernel ran."""
        rates = self._pair("nvmlDeviceGetUtilizationRates", handle, together=True)
        return float(rates[0]) if rates and rates[0] <= 100 else None

    def power_w(self, handle: Any) -> Optional[float]:
        """Power drawn, in W. No card that answers draws 0 W."""
        milliwatts = self._number("nvmlDeviceGetPowerUsage", handle)
        return milliwatts / 1000 if milliwatts else None

    def processes(self, handle: Any) -> Optional[Dict[int, Optional[int]]]:
        """Bytes in use by the id of each process that computes on the card."""
        for name, strides in PROCESS_LISTS:
            code, content, count = self._list(name, handle)
            if code == SUCCESS:
                return processes(content, count, strides)
            if code not in NO_SUCH_VERSION:
                return None
        return None

    def _list(self, name: str, handle: Any) -> Tuple[int, bytes, int]:
        room = PROCESSES
        while True:
            count = self._c.c_uint(room)
            # room for one entry more than is asked for: it shows how far the library wrote
            filled = UNTOUCHED * LONGEST_ENTRY_BYTES * (room + 1)
            content = self._c.create_string_buffer(filled, len(filled))
            code = self._of(handle, (name,), self._c.byref(count), content)
            if code != INSUFFICIENT_SIZE or room > 64 * PROCESSES:
                return code, content.raw, min(count.value, room)
            room *= 4

    def _number(self, name: str, handle: Any) -> Optional[int]:
        value = self._c.c_uint()
        known = self._of(handle, (name,), self._c.byref(value)) == SUCCESS
        return value.value if known and value.value != UNKNOWN_NUMBER else None

    def _pair(self, name: str, handle: Any, together: bool = False) -> Optional[Tuple[int, int]]:
        values = (self._c.c_uint * 2)()
        second = self._c.byref(values, self._c.sizeof(self._c.c_uint))
        arguments = (values,) if together else (values, second)
        if self._of(handle, (name,), *arguments) != SUCCESS or UNKNOWN_NUMBER in values:
            return None
        return values[0], values[1]

    def _text(self, name: str, *handle: Any) -> Optional[str]:
        text = self._c.create_string_buffer(TEXT_BYTES)
        size = self._c.c_uint(TEXT_BYTES)
        about = self._of if handle else self._ask
        code = about(*handle, (name,), text, size)
        said = text.value.decode("utf-8", "replace").strip()
        return said if code == SUCCESS and said not in ("", "N/A", "Unknown") else None

    def _of(self, handle: Any, names: Sequence[str], *arguments: Any) -> int:
        """Ask about a card; one without handle has nothing to tell, as if it were lost."""
        return self._ask(names, handle, *arguments) if handle is not None else NO_PERMISSION

    def _ask(self, names: Sequence[str], *arguments: Any) -> int:
        """The code of the first of these functions that this version of the library has."""
        code = FUNCTION_NOT_FOUND
        for name in names:
            function = getattr(self._functions, name, None)
            if function is not None:
                code = function(*arguments)
                if code not in NO_SUCH_VERSION:
                    break
        return code

    def _error(self, code: int) -> str:
        function = getattr(self._functions, "nvmlErrorString", None)
        if function is None:
            return "code {}".format(code)
        function.restype = self._c.c_char_p
        return (function(code) or b"").decode("utf-8", "replace") or "code {}".format(code)


def _load() -> Any:
    import ctypes

    named = os.environ.get(LIBRARY_VARIABLE)
    for name in (named,) if named else LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise Unloadable
