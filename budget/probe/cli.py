"""The probe's command line: one table of verbs, each loaded only when it is asked for."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from . import options, signals
from .log import say
from .options import Misuse, Parser

DONE = 0
FAILED = 1
MISUSED = 2

FOLDER = "compute-budget-logs"
FOLDER_VARIABLE = "COMPUTE_BUDGET_LOG_DIR"
# set for everything that a run starts
ATTEMPT_FOLDER_VARIABLE = "COMPUTE_BUDGET_PROBE_DIR"


class Verb(NamedTuple):
    """A verb: what it does in one line, the module and function that do it, its own options.

    `takes_command` says that it takes words after `--`; `in_folder` that it works in a log folder.
    """

    name: str
    text: str
    module: str
    function: str
    describe: Callable[[argparse.ArgumentParser], None]
    takes_command: bool = False
    in_folder: bool = True


def main(argv: Optional[List[str]] = None) -> int:
    """Run one verb: 0 done, 1 failed, 2 bad use; `run` and `phase` return what the command did.

    When a signal ended the measured command, this process ends by the same signal.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    words, command = _split(words)
    try:
        asked = _parser(words).parse_args(words)
        verb = _verb(asked.verb)
        if command is not None and not verb.takes_command:
            takers = " and ".join("`{}`".format(verb.name) for verb in VERBS if verb.takes_command)
            raise Misuse("only {} take a command after `--`".format(takers))
        do: Any = getattr(importlib.import_module("." + verb.module, __package__), verb.function)
        return int(do(asked, command or []) if verb.takes_command else do(asked))
    except Misuse as misuse:
        say(str(misuse))
        return MISUSED
    except BrokenPipeError:
        # the reader of what was printed has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except OSError as problem:
        say("{}: {}".format(_folder_name(problem), problem.strerror or problem))
        return FAILED
    except KeyboardInterrupt:
        return signals.end_like(2)
    except SystemExit as asked_exit:
        return int(asked_exit.code or 0)


def _split(words: List[str]) -> Tuple[List[str], Optional[List[str]]]:
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _parser(words: List[str]) -> Parser:
    """The parser; only the verb at hand gets its options, unless none is."""
    parser = Parser(
        prog="probe",
        description="Measures commands on this host and writes a log to upload.",
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    named = words[0] if words else ""
    for verb in VERBS:
        added = verbs.add_parser(
            verb.name, help=verb.text, description=verb.text, allow_abbrev=False
        )
        if verb.name != named:
            continue
        if verb.in_folder:
            added.add_argument(
                "--out",
                metavar="DIR",
                default=folder(),
                help="log folder (default: {} or ./{})".format(FOLDER_VARIABLE, FOLDER),
            )
        verb.describe(added)
    return parser


def folder(environ: Optional[Dict[str, str]] = None) -> str:
    """The log folder where none is named: inside an attempt, that of the attempt."""
    known = os.environ if environ is None else environ
    return known.get(ATTEMPT_FOLDER_VARIABLE) or known.get(FOLDER_VARIABLE) or FOLDER


def _verb(name: str) -> Verb:
    return next(verb for verb in VERBS if verb.name == name)


def _start(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reserved-since", metavar="T", help="when the reservation began")
    parser.add_argument("--redact-host", action="store_true", help=options.REDACT_HELP)


def _run(parser: argparse.ArgumentParser) -> None:
    from . import measure

    measure.describe_run(parser)


def _phase(parser: argparse.ArgumentParser) -> None:
    from . import measure

    parser.add_argument("name", choices=("prepare", "load", "run"))
    measure.describe_block(parser)


def _wait(parser: argparse.ArgumentParser) -> None:
    from .verbs import REASONS

    parser.add_argument("reason", choices=REASONS)


def _note(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+")


def _change(parser: argparse.ArgumentParser) -> None:
    from .verbs import CHANGES

    parser.add_argument("--kind", choices=CHANGES, required=True)
    parser.add_argument("--what", required=True)
    parser.add_argument("--from", dest="before", metavar="A", required=True)
    parser.add_argument("--to", dest="after", metavar="B", required=True)
    parser.add_argument("--reason", required=True)


def _result(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the metric")
    parser.add_argument("value")
    parser.add_argument("--unit")
    parser.add_argument("--expected", metavar="VALUE", help="what the paper states")
    parser.add_argument("--source", help="where it states it")


def _watch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--detach", action="store_true", help="watch in the background")
    parser.add_argument("--sample-interval", metavar="S", type=options.seconds, default=5.0)
    parser.add_argument("--background", action="store_true", help=argparse.SUPPRESS)


def _end(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--released-at", metavar="T", help="when the host was given back")


def _env(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--redact-host", action="store_true", help=options.REDACT_HELP)


def _logs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("logs", metavar="LOG", nargs="*", help="files or log folders")


def _build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", default="probe.pyz")


def _nothing(parser: argparse.ArgumentParser) -> None:
    return None


VERBS: Tuple[Verb, ...] = (
    Verb("start", "Open a session: one reservation of this host.", "verbs", "start", _start),
    Verb(
        "run", "Run a command and measure it: run --block B -- CMD …", "measure", "run", _run, True
    ),
    Verb(
        "phase", "Run a command as one phase: phase NAME -- CMD …", "measure", "phase", _phase, True
    ),
    Verb("wait", "The host is reserved and nothing useful runs.", "verbs", "wait", _wait),
    Verb("resume", "The wait is over.", "verbs", "resume", _nothing),
    Verb("note", "Write a remark into the log.", "verbs", "note", _note),
    Verb("change", "Something was changed between attempts.", "verbs", "change", _change),
    Verb("result", "Say what the last run found.", "verbs", "result", _result),
    Verb("watch", "Sample the cards until the session ends.", "watch", "watch", _watch),
    Verb("end", "Close the session and write the one file to upload.", "verbs", "end", _end),
    Verb("env", "What this host is.", "answers", "env", _env, in_folder=False),
    Verb("check", "Does CUDA really work? check [-- PYTHON]", "answers", "check", _nothing, True),
    Verb("summary", "A table of what logs hold.", "answers", "summary", _logs),
    Verb("verify", "Are logs whole and consistent?", "answers", "verify", _logs),
    Verb(
        "build", "Write the probe as one file to copy.", "answers", "build", _build, in_folder=False
    ),
)
"""Every verb, in the order in which they are used."""


def _folder_name(problem: OSError) -> str:
    return "the log folder cannot be used" if problem.filename else "the log cannot be written"
