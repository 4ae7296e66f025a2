"""The probe's command line."""

from __future__ import annotations

import argparse
import math
import os
import sys
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from . import history, runner, signals
from .log import Log, say, utc
from .merge import Merged, merge
from .secrets import clean, is_secret_name
from .session import Session, close, current, open_session

DONE = 0
FAILED = 1
MISUSED = 2

FOLDER = "compute-budget-logs"
FOLDER_VARIABLE = "COMPUTE_BUDGET_LOG_DIR"

ROLES = ("trial", "campaign")
REASONS = ("decision", "fix", "files", "queue", "other")
CHANGES = ("parameter", "dependency", "code", "environment")

# A clock that is a little behind must not make a reservation lie in the future.
CLOCK_TOLERANCE = timedelta(minutes=5)


class Misuse(Exception):
    """What the user should write instead, in one sentence."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        raise Misuse("{} (see --help)".format(message))


def main(argv: Optional[List[str]] = None) -> int:
    """Run one verb: 0 done, 1 failed, 2 bad use; `run` returns what the command returned.

    When a signal ended the measured command, this process ends by the same signal.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    words, command = _split(words)
    try:
        options = _parser().parse_args(words)
        if options.verb == "run":
            return _run(options, command)
        if command:
            raise Misuse("only `run` takes a command after `--`")
        verb: Any = options.do
        return int(verb(options))
    except Misuse as misuse:
        say(str(misuse))
        return MISUSED
    except OSError as problem:
        say("{}: {}".format(_folder_name(problem), problem.strerror or problem))
        return FAILED
    except KeyboardInterrupt:
        return signals.end_like(2)
    except SystemExit as asked:
        return int(asked.code or 0)


def _split(words: List[str]) -> Tuple[List[str], List[str]]:
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _parser() -> Parser:
    parser = Parser(
        prog="probe",
        description="Measures commands on this host and writes a log to upload.",
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name: str, do: Any, text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.add_argument(
            "--out",
            metavar="DIR",
            default=os.environ.get(FOLDER_VARIABLE) or FOLDER,
            help="log folder (default: {} or ./{})".format(FOLDER_VARIABLE, FOLDER),
        )
        added.set_defaults(do=do)
        return added

    start = verb("start", _start, "Open a session: one reservation of this host.")
    start.add_argument("--reserved-since", metavar="T", help="when the reservation began")

    run = verb("run", None, "Run a command and measure it: run --block B -- CMD …")
    run.add_argument("--block", required=True, help="the planned block that this run serves")
    run.add_argument("--role", choices=ROLES, default="trial")
    run.add_argument("--model", help="the intended condition, from here to --param")
    run.add_argument("--input-tokens", metavar="N", type=_count)
    run.add_argument("--output-tokens", metavar="N", type=_count)
    run.add_argument("--batch-size", metavar="N", type=_count)
    run.add_argument("--param", metavar="K=V", action="append", default=[])
    run.add_argument("--sample-interval", metavar="S", type=_seconds, default=1.0)

    wait = verb("wait", _wait, "The host is reserved and nothing useful runs.")
    wait.add_argument("reason", choices=REASONS)
    verb("resume", _resume, "The wait is over.")

    note = verb("note", _note, "Write a remark into the log.")
    note.add_argument("text", nargs="+")

    change = verb("change", _change, "Something was changed between attempts.")
    change.add_argument("--kind", choices=CHANGES, required=True)
    change.add_argument("--what", required=True)
    change.add_argument("--from", dest="before", metavar="A", required=True)
    change.add_argument("--to", dest="after", metavar="B", required=True)
    change.add_argument("--reason", required=True)

    end = verb("end", _end, "Close the session and write the one file to upload.")
    end.add_argument("--released-at", metavar="T", help="when the host was given back")
    return parser


def _start(options: argparse.Namespace) -> int:
    since = _moment(options.reserved_since, "--reserved-since")
    if since is not None and since > datetime.now(timezone.utc) + CLOCK_TOLERANCE:
        raise Misuse("--reserved-since lies in the future")
    session = open_session(options.out, utc(since) if since else None)
    if not session.new:
        raise Misuse("session {} is open already; close it with `end` first".format(session.id))
    session.log().open()
    print("Session {} is open; its log is in {}.".format(session.id, session.folder))
    return DONE


def _run(options: argparse.Namespace, command: List[str]) -> int:
    if not command:
        raise Misuse("`run` needs a command after `--`, such as: run --block B -- python main.py")
    if not options.block.strip():
        raise Misuse("--block is empty")
    condition = {
        "model": clean(options.model) if options.model else None,
        "input_tokens": options.input_tokens,
        "output_tokens": options.output_tokens,
        "batch_size": options.batch_size,
        "parameters": _parameters(options.param),
    }
    plan = runner.Plan(
        options.out, clean(options.block), options.role, condition, options.sample_interval
    )
    ending = runner.run(plan, command)
    if ending.signal is not None:
        return signals.end_like(ending.signal)
    return ending.exit_code or 0


def _wait(options: argparse.Namespace) -> int:
    session, log = _opened(options)
    waiting = history.open_wait(session.folder, session.id)
    if waiting is not None:
        log.write("wait.end", {"reason": waiting})
    log.write("wait.start", {"reason": options.reason})
    return DONE


def _resume(options: argparse.Namespace) -> int:
    session = current(options.out)
    waiting = history.open_wait(session.folder, session.id) if session else None
    if session is None or waiting is None:
        raise Misuse("no wait is open in {}".format(options.out))
    session.log().write("wait.end", {"reason": waiting})
    return DONE


def _note(options: argparse.Namespace) -> int:
    _, log = _opened(options)
    log.write("note", {"text": clean(" ".join(options.text))})
    return DONE


def _change(options: argparse.Namespace) -> int:
    _, log = _opened(options)
    secret = is_secret_name(options.what)
    fields = {
        "kind": options.kind,
        "what": clean(options.what),
        "from": "***" if secret else clean(options.before),
        "to": "***" if secret else clean(options.after),
        "reason": clean(options.reason),
    }
    log.write("change", fields)
    return DONE


def _end(options: argparse.Namespace) -> int:
    released = _moment(options.released_at, "--released-at")
    session = current(options.out)
    if session is None:
        raise Misuse("no session is open in {}".format(options.out))
    past = history.attempts(session.folder, session.id, session.start["boot"])
    running = [attempt.id for attempt in past if attempt.running]
    if running:
        raise Misuse("attempt {} is still running; end the session after it".format(running[0]))
    log = session.log()
    waiting = history.open_wait(session.folder, session.id)
    if waiting is not None:
        log.write("wait.end", {"reason": waiting})
    log.write("session.end", {"released_at": utc(released) if released else None})
    merged = merge(session)
    close(session)
    _say_merged(merged)
    return DONE


def _say_merged(merged: Merged) -> None:
    begun = merged.events.get("attempt.start", 0)
    known = ["{} {}".format(count, outcome) for outcome, count in sorted(merged.outcomes.items())]
    endless = begun - sum(merged.outcomes.values())
    if endless:
        known.append("{} without an end".format(endless))
    attempts = _counted(begun, "attempt") + (" ({})".format(", ".join(known)) if known else "")
    waits = _counted(merged.events.get("wait.start", 0), "wait")
    changes = _counted(merged.events.get("change", 0), "change")
    notes = _counted(merged.events.get("note", 0), "note")
    print("Upload this file: {}".format(merged.path))
    print("It holds {}, {}, {} and {}.".format(attempts, waits, changes, notes))
    if merged.cut_lines:
        lines = _counted(merged.cut_lines, "incomplete line")
        print("Left out: {}, cut off when a process was killed.".format(lines))


def _counted(count: int, noun: str) -> str:
    return "{} {}{}".format(count, noun, "" if count == 1 else "s")


def _opened(options: argparse.Namespace) -> Tuple[Session, Log]:
    session = open_session(options.out)
    if session.recovered:
        say("the session file was damaged; going on with session {}".format(session.id))
    return session, session.log()


def _parameters(pairs: List[str]) -> Optional[Dict[str, str]]:
    parameters: Dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name.strip() or not equals:
            raise Misuse("--param needs the form name=value, not {!r}".format(clean(pair)))
        if name in parameters:
            raise Misuse("--param {} is given twice".format(clean(name)))
        parameters[name] = "***" if is_secret_name(name) else clean(value)
    return parameters or None


def _moment(text: Optional[str], option: str) -> Optional[datetime]:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in "Zz" else text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise Misuse(
            "{} needs a date, a time and a zone, such as 2027-01-11T09:00:00+01:00".format(option)
        )
    return moment.astimezone(timezone.utc)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError("{!r} is not a whole number above 0".format(text))
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError("{!r} is not a number of seconds above 0".format(text))
    return value


def _folder_name(problem: OSError) -> str:
    return "the log folder cannot be used" if problem.filename else "the log cannot be written"
