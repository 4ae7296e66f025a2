"""The verbs with which a person says what happens on the host."""

from __future__ import annotations

import argparse
import os
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, Tuple, Union

from . import hello, history, options
from .log import Log, say, utc
from .merge import Merged, merge
from .options import Misuse
from .secrets import HIDDEN, clean, is_secret_name
from .session import ATTEMPT_VARIABLE, Session, close, current, of_attempt, open_session

REASONS = ("decision", "fix", "files", "queue", "other")
CHANGES = ("parameter", "dependency", "code", "environment")

# A clock that is a little behind must not make a reservation lie in the future.
CLOCK_TOLERANCE = timedelta(minutes=5)


def start(asked: argparse.Namespace) -> int:
    """`start`: open a session."""
    since = options.moment(asked.reserved_since, "--reserved-since")
    if since is not None and since > datetime.now(timezone.utc) + CLOCK_TOLERANCE:
        raise Misuse("--reserved-since lies in the future")
    session = open_session(asked.out, utc(since) if since else None, asked.redact_host)
    if not session.new:
        raise Misuse("session {} is open already; close it with `end` first".format(session.id))
    session.log().open()
    print("Session {} is open; its log is in {}.".format(session.id, session.folder))
    return 0


def wait(asked: argparse.Namespace) -> int:
    """`wait`: the host is reserved and nothing useful runs."""
    session, log = opened(asked)
    waiting = history.open_wait(session.folder, session.id)
    if waiting is not None:
        log.write("wait.end", {"reason": waiting})
    log.write("wait.start", {"reason": asked.reason})
    return 0


def resume(asked: argparse.Namespace) -> int:
    """`resume`: the wait is over."""
    session = current(asked.out)
    waiting = history.open_wait(session.folder, session.id) if session else None
    if session is None or waiting is None:
        raise Misuse("no wait is open in {}".format(asked.out))
    session.log().write("wait.end", {"reason": waiting})
    return 0


def note(asked: argparse.Namespace) -> int:
    """`note`: a remark."""
    _, log = opened(asked)
    log.write("note", {"text": clean(" ".join(asked.text))})
    return 0


def change(asked: argparse.Namespace) -> int:
    """`change`: what was changed between attempts, or to make the code start."""
    _, log = opened(asked)
    secret = is_secret_name(asked.what)
    log.write(
        "change",
        {
            "kind": asked.kind,
            "what": clean(asked.what),
            "from": HIDDEN if secret else clean(asked.before),
            "to": HIDDEN if secret else clean(asked.after),
            "reason": clean(asked.reason),
        },
    )
    return 0


def result(asked: argparse.Namespace) -> int:
    """`result`: what a command found, said from outside it.

    It belongs to the attempt around this process, else to the session's last one.
    """
    fields: Dict[str, Any] = {
        "name": clean(asked.name),
        "value": _value(asked.value),
        "unit": clean(asked.unit) if asked.unit else None,
        "expected": _value(asked.expected) if asked.expected else None,
        "source": clean(asked.source) if asked.source else None,
    }
    if ATTEMPT_VARIABLE in os.environ:
        of_attempt("parent").write("result", fields)
        return 0
    session = current(asked.out)
    if session is None:
        raise Misuse("no session is open in {}: a result belongs to a run".format(asked.out))
    past = history.attempts(session.folder, session.id, session.start.get("boot"))
    ended = [attempt for attempt in past if not attempt.running]
    if not ended:
        raise Misuse("no run has ended in this session: a result belongs to one")
    session.log(ended[-1].id).write("result", fields)
    return 0


def end(asked: argparse.Namespace) -> int:
    """`end`: close the session, write the one file to upload and say what is in it."""
    released = options.moment(asked.released_at, "--released-at")
    session = current(asked.out)
    if session is None:
        raise Misuse("no session is open in {}".format(asked.out))
    past = history.attempts(session.folder, session.id, session.start["boot"])
    running = [attempt.id for attempt in past if attempt.running]
    if running:
        raise Misuse("attempt {} is still running; end the session after it".format(running[0]))
    _end_watch(session)
    log = session.log()
    waiting = history.open_wait(session.folder, session.id)
    if waiting is not None:
        log.write("wait.end", {"reason": waiting})
    log.write("session.end", {"released_at": utc(released) if released else None})
    merged = merge(session)
    hello.sweep(session.folder, session.id)
    close(session)
    print(described(merged))
    return 0


def opened(asked: argparse.Namespace) -> Tuple[Session, Log]:
    """The folder's session, opened if none is, and the file of this process."""
    session = open_session(asked.out)
    if session.recovered:
        say("the session file was damaged; going on with session {}".format(session.id))
    return session, session.log()


def described(merged: Merged) -> str:
    """What the file to upload holds, for a person who must decide whether it may leave the host."""
    held = [
        _counted(len(merged.outcomes), "attempt", "attempts") + _by_outcome(merged),
        *(
            _counted(merged.events.get(event, 0), one, many)
            for event, one, many in (
                ("call", "call", "calls"),
                ("error", "error", "errors"),
                ("wait.start", "wait", "waits"),
                ("change", "change", "changes"),
                ("result", "result", "results"),
                ("note", "note", "notes"),
            )
            if merged.events.get(event) or event in ("wait.start", "change", "note")
        ),
    ]
    lines = [
        "Upload this file: {} ({:,} bytes)".format(merged.path, merged.size_bytes),
        "It holds {} and {}.".format(", ".join(held[:-1]), held[-1]),
        "It names {}.".format(_named(merged.start)),
        "It quotes the commands, the first 500 characters of each error, and what you typed; "
        "secrets, absolute paths, host and user names are replaced. It is text: read it first.",
    ]
    if merged.cut_lines:
        count = _counted(merged.cut_lines, "incomplete line", "incomplete lines")
        lines.append("Left out: {}, cut off when a process was killed.".format(count))
    return "\n".join(lines)


def _named(start: Dict[str, Any]) -> str:
    host = start.get("host") or {}
    named = [str(host.get("os_release") or "the system"), str(host.get("cpu") or "the processor")]
    cards = [str(card.get("name") or "a card") for card in start.get("gpus") or ()]
    named += ["{} x {}".format(cards.count(name), name) for name in dict.fromkeys(cards)]
    if start.get("redacted"):
        return ", ".join(named) + "; ids of cards and jobs are replaced"
    ids = ["the cards' ids"] * bool(cards) + ["the job's id"] * bool(start.get("scheduler"))
    return ", ".join(named + ids)


def _by_outcome(merged: Merged) -> str:
    outcomes = list(merged.outcomes.values())
    known = [
        "{} {}".format(outcomes.count(outcome), outcome or "without an end")
        for outcome in sorted(set(outcomes), key=lambda outcome: (outcome is None, str(outcome)))
    ]
    return " ({})".format(", ".join(known)) if known else ""


def _counted(count: int, one: str, many: str) -> str:
    return "{} {}".format(count, one if count == 1 else many)


def _value(text: str) -> Union[str, bool, int, float]:
    """A stated value as what it is; a number that is none stays a text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return clean(text)


def _end_watch(session: Session) -> None:
    # loaded only where a watch runs
    from .watch import WATCH, stop

    if os.path.exists(os.path.join(session.folder, WATCH)):
        stop(session.folder)
