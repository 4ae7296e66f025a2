"""The log's format, and the writer of one process's file."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import sys
import time
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional, Union

from .ranks import rank_and_node

# Version history of the format. Within a version, events and keys may be added; none is renamed,
# removed or given another meaning.
#   compute-budget-log/1  first version
SCHEMA = "compute-budget-log/1"

PROBE_VERSION = "0.1.0"

EVENTS = (
    "session.start",
    "session.end",
    "environment",
    "check",
    "attempt.start",
    "attempt.end",
    "phase.start",
    "phase.end",
    "call",
    "sample",
    "wait.start",
    "wait.end",
    "change",
    "error",
    "result",
    "note",
    "heartbeat",
)

Record = Dict[str, Any]


def utc(moment: Optional[datetime] = None) -> str:
    """A moment (default now) as RFC 3339 in UTC with microseconds, ending in Z."""
    moment = moment or datetime.now(timezone.utc)
    text = moment.astimezone(timezone.utc).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")


def plain(value: Any) -> Any:
    """A value that every JSON reader accepts: NaN and infinity become text, arrays lists."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    # numpy and torch numbers, which cannot be imported here
    for method in ("tolist", "item"):
        if hasattr(value, method):
            return plain(getattr(value, method)())
    return str(value)


def encode(record: Record) -> bytes:
    """One line of the log."""
    text = json.dumps(plain(record), ensure_ascii=False, separators=(",", ":"))
    # an argument that is not UTF-8 arrives as lone surrogates, which cannot be encoded
    return text.encode("utf-8", "replace") + b"\n"


class Log:
    """The file of this process; opened by the first record, which follows `session.start`.

    After a fork the child writes its own file. `write` raises OSError when the folder cannot be
    written or the disk is full; the next record then begins on a line of its own.
    """

    def __init__(
        self, folder: str, session: str, start: Record, attempt: Optional[str] = None
    ) -> None:
        self.folder = folder
        self.session = session
        self.start = start
        self.attempt = attempt
        self._descriptor = -1
        self._owner = 0
        self._torn = False

    def write(self, event: str, fields: Optional[Record] = None) -> None:
        """Append one record."""
        self.open()
        self._append(self._record(event, fields or {}))

    def open(self) -> None:
        """Open the file and write `session.start`, unless this process has."""
        if self._owner != os.getpid():
            self._open()

    def _record(self, event: str, fields: Record) -> Record:
        record: Record = {
            "event": event,
            "t": utc(),
            "mono_ns": time.monotonic_ns(),
            "session": self.session,
            "pid": os.getpid(),
        }
        place = rank_and_node()
        if place.rank is not None:
            record["rank"] = place.rank
        if place.node is not None:
            record["node"] = place.node
        if self.attempt is not None:
            record["attempt"] = self.attempt
        record.update(fields)
        return record

    def _open(self) -> None:
        os.makedirs(self.folder, exist_ok=True)
        name = "{}-{}-{}.jsonl".format(self.session, os.getpid(), time.time_ns())
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(os.path.join(self.folder, name), flags, 0o644)
        self._owner = os.getpid()
        self._torn = False
        self._append(self._record("session.start", self.start))

    def _append(self, record: Record) -> None:
        line = encode(record)
        if self._torn:
            line = b"\n" + line
        written = os.write(self._descriptor, line)
        self._torn = written != len(line)
        if self._torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def say(text: str) -> None:
    """One line on stderr."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write("compute-budget probe: {}\n".format(text))
        sys.stderr.flush()


def parse(line: Union[bytes, str]) -> Optional[Record]:
    """A line's record, or None for a line that was cut or is no record."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("event"), str) else None


def read(path: str, events: Optional[List[str]] = None) -> List[Record]:
    """The complete records of a file, of all events or of some. Raises OSError."""
    records = []
    with open(path, "rb") as file:
        for line in file:
            # the writer puts the event first: most lines need not be parsed to be passed over
            if events and not any(line.startswith(_start_of(event)) for event in events):
                continue
            record = parse(line)
            if record is not None:
                records.append(record)
    return records


def _start_of(event: str) -> bytes:
    return '{{"event":"{}"'.format(event).encode()
