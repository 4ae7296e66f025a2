"""The open session of a log folder, held in a small state file."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
from datetime import datetime, timezone
from typing import Any, Dict, NamedTuple, Optional

from . import host, secrets
from .log import Log, Record, read, utc

# How a measured program finds the session and the attempt it belongs to.
FOLDER_VARIABLE = "COMPUTE_BUDGET_PROBE_DIR"
SESSION_VARIABLE = "COMPUTE_BUDGET_PROBE_SESSION"
ATTEMPT_VARIABLE = "COMPUTE_BUDGET_PROBE_ATTEMPT"
HELLO_VARIABLE = "COMPUTE_BUDGET_PROBE_HELLO"
REDACT_VARIABLE = "COMPUTE_BUDGET_PROBE_REDACT"
VARIABLES = (
    FOLDER_VARIABLE,
    SESSION_VARIABLE,
    ATTEMPT_VARIABLE,
    HELLO_VARIABLE,
    REDACT_VARIABLE,
)

STATE = "session.json"
IDENTIFIER = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")


class Session(NamedTuple):
    """An open session; `start` is what every file's `session.start` states.

    `new` says that this call opened it, `recovered` that the state file was unreadable.
    """

    id: str
    folder: str
    start: Record
    new: bool = False
    recovered: bool = False

    def log(self, attempt: Optional[str] = None) -> Log:
        """The file of this process. Nothing is written before the first record."""
        return Log(self.folder, self.id, self.start, attempt)


def open_session(
    folder: str, reserved_since: Optional[str] = None, redact: bool = False
) -> Session:
    """The folder's session, opened if none is. Raises OSError if the folder cannot be written."""
    os.makedirs(folder, exist_ok=True)
    session = current(folder)
    if session is not None:
        return session
    identifier = "{:%Y%m%dT%H%M%SZ}-{}".format(datetime.now(timezone.utc), os.urandom(3).hex())
    secrets.hide_short_names(redact)
    start = host.session_start("parent", reserved_since, redact)
    if _create_state(folder, {"session": identifier, "opened": utc(), "start": start}):
        return Session(identifier, folder, start, new=True)
    # another probe opened the session in the meantime
    return current(folder) or open_session(folder, reserved_since, redact)


def current(folder: str) -> Optional[Session]:
    """The folder's open session, or None. Raises OSError if the folder cannot be read."""
    try:
        with open(os.path.join(folder, STATE), "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return None
    state = _state(content)
    if state is not None:
        secrets.hide_short_names(bool(state["start"].get("redacted")))
        return Session(state["session"], folder, _on_this_host(state["start"]))
    return _recover(folder)


def of_attempt(layer: str) -> Log:
    """The file of a process that an attempt has started; it asks no driver.

    Raises KeyError outside an attempt.
    """
    folder = os.environ[FOLDER_VARIABLE]
    identifier = os.environ[SESSION_VARIABLE]
    attempt = os.environ[ATTEMPT_VARIABLE]
    here = host.boot()
    try:
        with open(os.path.join(folder, STATE), "rb") as file:
            start: Record = json.loads(file.read())["start"]
    except (OSError, ValueError, KeyError, TypeError):
        start = {}
    redacted = bool(start.get("redacted")) or REDACT_VARIABLE in os.environ
    if not start or start.get("boot") != here:
        start = host.session_start_unasked(layer, redacted)
    secrets.hide_short_names(redacted)
    own = {"host": host.host_facts(), "scheduler": host.scheduler(redacted)}
    return Log(folder, identifier, {**start, "layer": layer, **own}, attempt)


def close(session: Session) -> None:
    """Forget the session: the next command opens another."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(session.folder, STATE))


def merged_path(session: Session) -> str:
    """The one file to upload."""
    return os.path.join(session.folder, session.id + ".jsonl")


def _on_this_host(start: Record) -> Record:
    # asking the driver takes seconds on some hosts, so one boot is asked once
    if start.get("boot") == host.boot():
        job = host.scheduler(bool(start.get("redacted")))
        return {**start, "layer": "parent", "scheduler": job}
    redact = bool(start.get("redacted"))
    return host.session_start("parent", start.get("reserved_since"), redact)


def _recover(folder: str) -> Optional[Session]:
    """Go on with the newest session that has not ended: its records must not be orphaned."""
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*-*-*.jsonl")), reverse=True):
        starts = read(path, ["session.start"])
        identifier = str(starts[0].get("session")) if starts else ""
        if not IDENTIFIER.fullmatch(identifier):
            continue
        if not os.path.exists(os.path.join(folder, identifier + ".jsonl")):
            keys = ("event", "t", "mono_ns", "session", "pid", "rank", "attempt")
            start = {key: value for key, value in starts[0].items() if key not in keys}
            start = _on_this_host(start)
            _replace_state(folder, {"session": identifier, "opened": utc(), "start": start})
            return Session(identifier, folder, start, recovered=True)
    os.remove(os.path.join(folder, STATE))
    return None


def _state(content: bytes) -> Optional[Dict[str, Any]]:
    try:
        state = json.loads(content)
        whole = IDENTIFIER.fullmatch(state["session"]) and isinstance(state["start"], dict)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return state if whole else None


def _create_state(folder: str, state: Dict[str, Any]) -> bool:
    """Write the state unless there is one; a reader never sees half of it."""
    draft = _write_draft(folder, state)
    target = os.path.join(folder, STATE)
    try:
        os.link(draft, target)
    except FileExistsError:
        return False
    except OSError:
        # some network and container file systems have no links; a race is then possible
        if os.path.exists(target):
            return False
        os.replace(draft, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(draft)
    return True


def _replace_state(folder: str, state: Dict[str, Any]) -> None:
    os.replace(_write_draft(folder, state), os.path.join(folder, STATE))


def _write_draft(folder: str, state: Dict[str, Any]) -> str:
    path = os.path.join(folder, "{}.{}".format(STATE, os.urandom(8).hex()))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(state, file)
    return path
