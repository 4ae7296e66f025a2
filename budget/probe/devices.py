"""The cards while a command runs: memory, utilisation, power and processes, read again and again.

The driver's library is asked in a thread of its own, since a driver may take seconds to answer.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple, Union

from . import gpus

if TYPE_CHECKING:
    from .nvml import Library
    from .smi import Loop
    from .worker import Worker

# The first answer holds what was in use before the command. A driver that stays loaded gives it at
# once; one that starts for it takes about 1.5 s a card. Then the command waits no longer.
OPEN_PATIENCE_S = 3.0
READ_PATIENCE_S = 0.25


class Reading(NamedTuple):
    """One card, or one instance of it (`0:1`), at one moment; None is what it does not tell.

    `used_bytes` counts all processes, `processes` those that compute, in bytes by process id.
    """

    device: Union[int, str]
    used_bytes: Optional[int]
    utilisation_percent: Optional[float]
    power_w: Optional[float]
    processes: Optional[Dict[int, Optional[int]]]


class Devices:
    """No card: `why` says the reason. With cards, `read_by` says what tells of them."""

    def __init__(self, read_by: Optional[str] = None, why: Optional[str] = None) -> None:
        self.read_by = read_by
        self.why = why

    def read(self) -> List[Reading]:
        """What the cards say now; never raises, and waits at most `READ_PATIENCE_S` for them.

        A card that has nothing new to say is left out.
        """
        return []

    def close(self) -> None:
        """Ask no more."""


def open_devices(interval_s: float) -> Devices:
    """The cards of this host, to be read about every `interval_s` seconds; never raises.

    Waits at most `OPEN_PATIENCE_S` for the driver, and not at all on a host without a card.
    """
    try:
        return _open(interval_s)
    except Exception as problem:
        return Devices(None, "the cards could not be asked ({})".format(type(problem).__name__))


def _open(interval_s: float) -> Devices:
    program = gpus.smi_program()
    if program is None and not gpus.may_have_library():
        return Devices(None, gpus.why_without_tool())
    by_library = _ByLibrary()
    if by_library.read_by is not None:
        return by_library
    by_library.close()
    if by_library.why is not None:
        return Devices(None, by_library.why)
    if program is None:
        return Devices(None, gpus.why_without_tool())
    return _ByTool(program, interval_s)


class _ByLibrary(Devices):
    def __init__(self) -> None:
        super().__init__("nvml")
        from .worker import Worker

        self._pid = os.getpid()
        self._cards: List[Tuple[Union[int, str], Any]] = []
        self._library: Optional[Library] = None
        self._worker: Worker[List[Reading]] = Worker(self._answer)
        self._first = self._ask(OPEN_PATIENCE_S)
        self._patience_s = READ_PATIENCE_S if self._first else 0.0

    def read(self) -> List[Reading]:
        # a forked process has neither the thread nor a right to the driver's connection
        if os.getpid() != self._pid or self.read_by is None:
            return []
        if self._first:
            first, self._first = self._first, []
            return first
        readings = self._ask(self._patience_s)
        # a driver that was late once must not slow every reading down; its late answers count
        self._patience_s = READ_PATIENCE_S if readings else 0.0
        return readings

    def close(self) -> None:
        self._worker.close(READ_PATIENCE_S)

    def _ask(self, patience_s: float) -> List[Reading]:
        from .nvml import Failed, Unloadable

        try:
            return self._worker.ask(patience_s) or []
        except Unloadable:
            self.read_by = None
        except Failed as problem:
            self.read_by, self.why = None, str(problem)
        except Exception as problem:
            self.why = "NVML failed: {}".format(type(problem).__name__)
            if self._library is None:
                self.read_by = None
        return []

    def _answer(self) -> List[Reading]:
        from . import nvml

        if self._library is None:
            library = nvml.library()
            self._cards = _cards(library)
            self._library = library
        return [_reading(self._library, device, handle) for device, handle in self._cards]


def _cards(library: Library) -> List[Tuple[Union[int, str], Any]]:
    """Cards and, for a card that is cut into instances, these in its place."""
    from .nvml import NO_CARD, Failed

    found: List[Tuple[Union[int, str], Any]] = []
    for card in library.cards():
        instances = library.instances(card.handle)
        if instances:
            # the whole card counts all tenants, and its instances would count twice
            named = [("{}:{}".format(card.number, number), each) for number, each in instances]
            found.extend(named)
        else:
            found.append((card.number, card.handle))
    if not found:
        raise Failed(NO_CARD)
    return found


def _reading(library: Library, device: Union[int, str], handle: Any) -> Reading:
    return Reading(
        device,
        library.memory(handle).used_bytes,
        library.utilisation_percent(handle),
        library.power_w(handle) if isinstance(device, int) else None,
        library.processes(handle),
    )


class _ByTool(Devices):
    def __init__(self, program: str, interval_s: float) -> None:
        super().__init__("nvidia-smi")
        from .smi import Loop

        self._loop: Optional[Loop] = None
        try:
            self._loop = Loop(program, interval_s)
        except (OSError, ValueError) as problem:
            self.read_by = None
            self.why = "nvidia-smi could not be started ({})".format(type(problem).__name__)

    def read(self) -> List[Reading]:
        if self._loop is None:
            return []
        try:
            rows = self._loop.read()
        except Exception as problem:
            self.why = "nvidia-smi could not be read ({})".format(type(problem).__name__)
            return []
        if self._loop.ended is not None:
            self.why = self._loop.ended
            if not self._loop.answered:
                self.read_by = None
        return [
            Reading(row.card, row.used_bytes, row.utilisation_percent, row.power_w, None)
            for row in rows
        ]

    def close(self) -> None:
        with contextlib.suppress(Exception):
            if self._loop is not None:
                self._loop.close()
