"""The layer inside the measured program: phases, calls, results, errors.

Nothing here may disturb that program: it imports nothing of it, resets no counter, keeps no
exception alive, and whatever fails is said once on stderr. A record that cannot be made is lost
alone; a file that cannot be written loses all further ones.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from . import host, memory
from .log import Log, encode, plain, say
from .secrets import clean
from .session import ATTEMPT_VARIABLE, FOLDER_VARIABLE, SESSION_VARIABLE, STATE

LIBRARIES = ("torch", "transformers", "diffusers", "vllm", "numpy", "flash_attn")

MESSAGE_CHARACTERS = 500
SIGNATURE_CHARACTERS = 160


class Cuda(NamedTuple):
    """What the allocator of one card counts for this process, in bytes."""

    tensor_now: int
    tensor_peak: int
    reserved_now: int
    reserved_peak: int


class Unwritable(Exception):
    """The file of this process cannot be opened or written."""


class State:
    """What this process has told the log so far."""

    def __init__(self) -> None:
        # a signal handler of the program may write while a record is being written
        self.lock = threading.RLock()
        self.log: Optional[Log] = None
        self.failed = False
        self.said: Set[str] = set()
        self.phases: List["Phase"] = []
        self.environment_written = False
        self.error_written: Optional[Tuple[int, str]] = None

    def after_fork(self) -> None:
        # another thread of the parent may have held it
        self.lock = threading.RLock()
        self.environment_written = False


_state = State()
os.register_at_fork(after_in_child=_state.after_fork)


class Phase:
    """A measured part of the attempt; use it in a `with` statement."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._began = 0.0
        self._resident = memory.Resident(None, None)
        self._cuda: Dict[int, Cuda] = {}

    def __enter__(self) -> None:
        _state.phases.append(self)
        _guard(self._start)
        self._began = time.monotonic()

    def __exit__(self, kind: Any, exception: Any, trace: Any) -> None:
        duration_s = time.monotonic() - self._began
        failure = exception if _is_error(exception) else None
        try:
            _guard(lambda: self._end(duration_s, failure, _is_good(exception)))
        finally:
            if self in _state.phases:
                _state.phases.remove(self)

    def _start(self) -> None:
        _state.error_written = None
        _write("phase.start", {"phase": self.name, "layer": "api"})
        self._resident = memory.own()
        self._cuda = _cuda()

    def _end(self, duration_s: float, failure: Optional[BaseException], good: bool) -> None:
        if failure is not None:
            error = failure
            _guard(lambda: self._write_error(error))
        entries = [_host_entry(self._resident, memory.own()), *_cuda_entries(self._cuda, _cuda())]
        _write(
            "phase.end",
            {
                "phase": self.name,
                "layer": "api",
                "duration_s": round(duration_s, 6),
                "outcome": "ok" if good else "failed",
                "memory": entries,
            },
        )
        if not _state.environment_written and "torch" in sys.modules:
            _state.environment_written = True
            _write("environment", _environment())

    def _write_error(self, failure: BaseException) -> None:
        fields = _error(failure)
        # an inner phase may have recorded the exception that now leaves an outer one; keeping
        # the exception itself to compare would keep the program's memory alive
        mark = (id(failure), fields["signature"])
        if _state.error_written != mark:
            _state.error_written = mark
            _write("error", {"phase": self.name, **fields})


def record_call(
    duration_s: float,
    input_tokens: Optional[int],
    output_tokens: Optional[int],
    batch_size: Optional[int],
) -> None:
    """Write one `call`: seconds and sizes."""
    fields = {
        "duration_s": duration_s,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "batch_size": batch_size,
        "read_by": "api",
    }
    _guard(lambda: _write("call", {**_phase(), **fields}))


def record_result(
    name: str, value: Any, unit: Optional[str], expected: Any, source: Optional[str]
) -> None:
    """Write one `result`."""
    texts = {"name": name, "unit": unit, "source": source}

    def write() -> None:
        fields: Dict[str, Any] = {
            key: None if text is None else clean(str(text)) for key, text in texts.items()
        }
        fields["value"] = clean(value) if isinstance(value, str) else value
        fields["expected"] = clean(expected) if isinstance(expected, str) else expected
        _write("result", {**_phase(), **fields})

    _guard(write)


def refuse_phase(name: Any, known: Tuple[str, ...]) -> None:
    """Say that a phase of another name is not recorded; a loop over one says it once."""
    _guard(
        lambda: _say_once(
            "phase {} is not one of {}: not recorded".format(
                " ".join(str(name).split())[:SIGNATURE_CHARACTERS], ", ".join(known)
            )
        )
    )


def _say_once(text: str) -> None:
    if text not in _state.said:
        _state.said.add(text)
        say(text)


def _guard(step: Callable[[], None]) -> None:
    if _state.failed:
        return
    try:
        step()
    except Unwritable as problem:
        _state.failed = True
        say("the measured program's own records are lost from here on ({})".format(problem))
    except Exception as problem:
        _say_once(
            "a record of the measured program cannot be written and is left out ({})".format(
                type(problem).__name__
            )
        )


def _write(event: str, fields: Dict[str, Any]) -> None:
    # a value that cannot be encoded shows here, before the file is touched
    fields = plain(fields)
    encode(fields)
    with _state.lock:
        try:
            if _state.log is None:
                _state.log = _open()
            _state.log.write(event, fields)
        except Exception as problem:
            reason = getattr(problem, "strerror", None) or type(problem).__name__
            raise Unwritable(reason) from None


def _open() -> Log:
    folder = os.environ[FOLDER_VARIABLE]
    session = os.environ[SESSION_VARIABLE]
    return Log(folder, session, _session_start(folder), os.environ[ATTEMPT_VARIABLE])


def _session_start(folder: str) -> Dict[str, Any]:
    # the parent has asked the driver; a measured program starts no processes
    here = host.boot()
    try:
        with open(os.path.join(folder, STATE), "rb") as file:
            start: Dict[str, Any] = json.loads(file.read())["start"]
    except (OSError, ValueError, KeyError, TypeError):
        start = {}
    if not start or start.get("boot") != here:
        start = host.session_start_unasked("api")
    return {**start, "layer": "api", "host": host.host_facts(), "scheduler": host.scheduler()}


def _phase() -> Dict[str, str]:
    return {"phase": _state.phases[-1].name} if _state.phases else {}


def _is_good(exception: Optional[BaseException]) -> bool:
    if isinstance(exception, SystemExit):
        return exception.code in (None, 0)
    return exception is None or isinstance(exception, GeneratorExit)


def _is_error(exception: Optional[BaseException]) -> bool:
    return not _is_good(exception) and not isinstance(exception, KeyboardInterrupt)


def _error(exception: BaseException) -> Dict[str, str]:
    kind = type(exception).__name__
    try:
        # an exception may carry a whole page; what is kept is only its beginning
        message = clean(str(exception)[: 10 * MESSAGE_CHARACTERS])
    except Exception:
        message = ""
    # the same failure has the same signature, whatever sizes and addresses it names
    first = re.sub(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?", "#", message.split("\n")[0])
    return {
        "kind": kind,
        "signature": "{}: {}".format(kind, first)[:SIGNATURE_CHARACTERS],
        "message": message[:MESSAGE_CHARACTERS],
    }


def _host_entry(before: memory.Resident, after: memory.Resident) -> Dict[str, Any]:
    """The peak of the process counts for the phase only if it rose in it."""
    if after.peak_bytes is not None and after.peak_bytes > (before.peak_bytes or 0):
        return memory.entry("host", "api", True, resident_peak_bytes=after.peak_bytes)
    lower_bound = max(before.now_bytes or 0, after.now_bytes or 0) or None
    return memory.entry("host", "api", False, resident_peak_bytes=lower_bound)


def _cuda() -> Dict[int, Cuda]:
    """The counters of the cards this process has used; never starts CUDA."""
    torch = sys.modules.get("torch")
    try:
        if torch is None or not torch.cuda.is_initialized():
            return {}
        cuda = torch.cuda
        return {
            device: Cuda(
                int(cuda.memory_allocated(device)),
                int(cuda.max_memory_allocated(device)),
                int(cuda.memory_reserved(device)),
                int(cuda.max_memory_reserved(device)),
            )
            for device in range(cuda.device_count())
        }
    except Exception:
        # a torch that is being imported, or whose context died with the error being recorded
        return {}


def _cuda_entries(before: Dict[int, Cuda], after: Dict[int, Cuda]) -> List[Dict[str, Any]]:
    entries = []
    for device, end in after.items():
        # this process never used the card; a worker may have, which its own file then says
        if end.reserved_peak == 0:
            continue
        start = before.get(device, Cuda(0, 0, 0, 0))
        tensor, tensor_exact = _peak(
            start.tensor_peak, end.tensor_peak, start.tensor_now, end.tensor_now
        )
        reserved, reserved_exact = _peak(
            start.reserved_peak, end.reserved_peak, start.reserved_now, end.reserved_now
        )
        entries.append(
            memory.entry(
                _card(device),
                "api",
                tensor_exact and reserved_exact,
                tensor_peak_bytes=tensor,
                allocator_peak_bytes=reserved,
            )
        )
    return entries


def _peak(peak_before: int, peak_after: int, before: int, after: int) -> Tuple[int, bool]:
    """A phase's peak from counters that were never reset, and whether it is exact.

    A peak that did not rise only bounds the phase from above. It is exact all the same when that
    much is in use at one end of the phase.
    """
    if peak_after > peak_before:
        return peak_after, True
    in_use = max(before, after)
    return in_use, in_use == peak_after


def _card(device: int) -> int:
    """The driver's index of a card, which differs from torch's when only some are visible."""
    try:
        found = str(sys.modules["torch"].cuda.get_device_properties(device).uuid)
        cards = _state.log.start["gpus"] if _state.log else []
        for card in cards:
            if card["uuid"] and card["uuid"].lower().endswith(found.lower()):
                return int(card["index"])
    except Exception:
        # an older torch names no uuid
        pass
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    if device < len(visible) and visible[device].strip().isdigit():
        return int(visible[device])
    return device


def _environment() -> Dict[str, Any]:
    torch: Any = sys.modules["torch"]
    versions = {}
    for name in LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            versions[name] = str(version)
    return {
        "torch": versions.get("torch"),
        "cuda": getattr(getattr(torch, "version", None), "cuda", None),
        "arch_list": _arch_list(torch),
        "libraries": versions,
    }


def _arch_list(torch: Any) -> Optional[List[str]]:
    # torch.cuda.get_arch_list() asks for devices, which a later fork of the program would not
    # survive; the flags are compiled in
    try:
        flags = torch._C._cuda_getArchFlags()
    except Exception:
        return None
    return str(flags).split() if flags else None
