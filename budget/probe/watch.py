"""Samples the cards for the whole reservation, between commands too."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional

from . import host, signals
from .devices import Devices, open_devices
from .log import Log, say
from .samples import Windows
from .session import STATE, open_session

# What runs is told by this file in the log folder; it holds the process's id and boot.
WATCH = "watch.json"

WINDOW_S = 60.0
SAMPLE_INTERVAL_S = 5.0

# How long `end` waits for the last window, and `watch --detach` for one that does not watch.
STOP_PATIENCE_S = 2.0
END_PATIENCE_S = 0.5
POLL_S = 0.02

# Where the package lies: a folder, or the one file that was copied to the host.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def watch(asked: argparse.Namespace) -> int:
    """`watch`: sample until the session ends; `--detach` does it in the background."""
    return _detach(asked) if asked.detach else _watch(asked)


def stop(folder: str) -> None:
    """Ask the watch of a folder to write its last window and end; wait for it, but not long."""
    found = _running(folder)
    if found is None:
        _remove(folder)
        return
    with contextlib.suppress(OSError):
        os.kill(found, signal.SIGTERM)
    deadline = time.monotonic() + STOP_PATIENCE_S
    while os.path.exists(os.path.join(folder, WATCH)) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _watch(asked: argparse.Namespace) -> int:
    session = open_session(asked.out)
    devices = open_devices(asked.sample_interval)
    if devices.read_by is None:
        say("nothing to watch: {}".format(devices.why))
        return 1
    log = Log(session.folder, session.id, {**session.start, "layer": "watch"})
    with signals.held() as inbox:
        other = _claim(session.folder)
        if other is not None:
            devices.close()
            say("process {} watches this session already".format(other))
            return 1
        log.write("heartbeat")
        print("Watching the cards of session {} until it ends.".format(session.id), flush=True)
        if asked.background:
            _leave_terminal()
        try:
            _sample(devices, log, inbox, asked.sample_interval)
        finally:
            _remove(session.folder)
            devices.close()
    return 0


def _sample(devices: Devices, log: Log, inbox: signals.Inbox, interval_s: float) -> None:
    windows = Windows(WINDOW_S)
    state = os.path.join(log.folder, STATE)
    going = True
    while going:
        if devices.why is not None:
            log.write("note", {"text": "the watch ended: {}".format(devices.why)})
            break
        for reading in devices.read():
            windows.add(
                reading.device,
                memory_used_bytes=reading.used_bytes,
                utilisation_percent=reading.utilisation_percent,
                power_w=reading.power_w,
            )
        going = _is_open(state, log.session) and _is_undisturbed(inbox, interval_s)
        if windows.due() or not going:
            for window in windows.close():
                log.write("sample", window)
            log.write("heartbeat")


def _is_undisturbed(inbox: signals.Inbox, seconds: float) -> bool:
    """Wait; False as soon as this process is asked to stop."""
    until = time.monotonic() + seconds
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return True
        got = inbox.next(left)
        if got is not None and got.number not in (signal.SIGUSR1, signal.SIGUSR2):
            return False


def _is_open(state: str, session: str) -> bool:
    try:
        with open(state, encoding="utf-8") as file:
            return bool(json.load(file).get("session") == session)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, AttributeError):
        # it is being replaced, or the file system is busy: no reason to stop
        return True


def _running(folder: str) -> Optional[int]:
    """The id of the process that watches the folder's session on this host, or None."""
    try:
        with open(os.path.join(folder, WATCH), encoding="utf-8") as file:
            claim: Dict[str, Any] = json.load(file)
        pid = int(claim["pid"])
        if claim["boot"] != host.boot() or claim["started"] != _started(pid):
            return None
        os.kill(pid, 0)
    except PermissionError:
        return pid
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid


def _started(pid: int) -> Optional[str]:
    """When a living process began, by the kernel's clock: an id may have gone to another one."""
    try:
        with open("/proc/{}/stat".format(pid), "rb") as file:
            state, *rest = file.read().rpartition(b")")[2].split()
            return None if state == b"Z" else rest[18].decode()
    except (OSError, IndexError):
        return None


def _claim(folder: str) -> Optional[int]:
    """Become the one that watches; returns the process that already does."""
    draft = os.path.join(folder, "{}.{}".format(WATCH, os.getpid()))
    target = os.path.join(folder, WATCH)
    with open(draft, "w", encoding="utf-8") as file:
        pid = os.getpid()
        json.dump({"pid": pid, "boot": host.boot(), "started": _started(pid)}, file)
    try:
        for _ in range(2):
            try:
                os.link(draft, target)
                return None
            except FileExistsError:
                other = _running(folder)
                if other is not None:
                    return other
                # of one that was killed
                _remove(folder)
            except OSError:
                # some network and container file systems have no links; a race is then possible
                os.replace(draft, target)
                return None
        return _running(folder)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(draft)


def _remove(folder: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(os.path.join(folder, WATCH))


def _detach(asked: argparse.Namespace) -> int:
    code = (
        "import sys; sys.path.insert(0, {!r}); from budget.probe.cli import main; sys.exit(main())"
    )
    words: List[str] = [sys.executable, "-I", "-c", code.format(ROOT)]
    words += ["watch", "--background", "--out", os.path.abspath(asked.out)]
    words += ["--sample-interval", str(asked.sample_interval)]
    child = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        encoding="utf-8",
        errors="replace",
    )
    # it closes its end of the pipe when it watches, or ends having said why it does not
    assert child.stdout is not None
    said = child.stdout.read().strip()
    ended = 0
    with contextlib.suppress(subprocess.TimeoutExpired):
        ended = child.wait(END_PATIENCE_S)
    print(said, file=sys.stderr if ended else sys.stdout)
    return ended


def _leave_terminal() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)
