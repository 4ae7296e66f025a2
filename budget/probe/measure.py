"""The verbs that run a command: `run` and `phase`."""

from __future__ import annotations

import argparse
import contextlib
import os
from typing import Any, Dict, List

from . import hello, options, runner, secrets, session, signals
from .log import say
from .recorder import Plan
from .runner import Ending
from .secrets import clean

ROLES = ("trial", "campaign")


def describe_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    describe_block(parser)
    parser.add_argument(
        "--expect",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a result that the paper states",
    )
    parser.add_argument(
        "--repeat",
        metavar="N",
        type=options.count,
        default=1,
        help="run it N times, each an attempt of its own",
    )
    parser.add_argument(
        "--retries",
        metavar="N",
        type=options.count,
        default=0,
        help="try a failed one again, at most N times",
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=options.seconds,
        help="end it after S seconds; the exit code is then 124",
    )
    parser.add_argument(
        "--no-hook", action="store_true", help="do not look inside the command's Python processes"
    )


def describe_block(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what a command is meant for, and how it is watched."""
    parser.add_argument("--block", help="the planned block that this run serves")
    parser.add_argument("--role", choices=ROLES, default="trial")
    parser.add_argument("--model", help="the intended condition, from here to --param")
    parser.add_argument("--input-tokens", metavar="N", type=options.count)
    parser.add_argument("--output-tokens", metavar="N", type=options.count)
    parser.add_argument("--batch-size", metavar="N", type=options.count)
    parser.add_argument("--param", metavar="K=V", action="append", default=[])
    parser.add_argument("--sample-interval", metavar="S", type=options.seconds, default=1.0)
    parser.add_argument("--redact-host", action="store_true", help=options.REDACT_HELP)


def run(asked: argparse.Namespace, command: List[str]) -> int:
    """`run`: measure a command, as often as asked."""
    if not command:
        raise options.Misuse(
            "`run` needs a command after `--`, such as: run --block B -- python main.py"
        )
    plan = _plan(asked)._replace(
        expected=options.pairs(asked.expect, "--expect"),
        timeout_s=asked.timeout,
        hook=not asked.no_hook,
    )
    return _end(_repeat(plan, command, asked.repeat, asked.retries))


def phase(asked: argparse.Namespace, command: List[str]) -> int:
    """`phase`: run a command as a phase of the attempt around it, or of one of its own."""
    if not command:
        raise options.Misuse(
            "`phase` needs a command after `--`, such as: phase prepare -- ./download.sh"
        )
    if session.ATTEMPT_VARIABLE in os.environ:
        if asked.block is not None:
            raise options.Misuse("--block belongs to the `run` around this phase")
        hello.say_probe()
        return _end(runner.run_phase(asked.name, command, asked.sample_interval))
    return _end(runner.run(_plan(asked)._replace(phase=asked.name), command))


def _plan(asked: argparse.Namespace) -> Plan:
    if asked.block is not None and not asked.block.strip():
        raise options.Misuse("--block is empty")
    redact = _redact(asked)
    condition: Dict[str, Any] = {
        "model": clean(asked.model) if asked.model else None,
        "input_tokens": asked.input_tokens,
        "output_tokens": asked.output_tokens,
        "batch_size": asked.batch_size,
        "parameters": options.pairs(asked.param, "--param"),
    }
    return Plan(
        asked.out,
        clean(asked.block) if asked.block else None,
        asked.role,
        condition,
        asked.sample_interval,
        redact=redact,
    )


def _repeat(plan: Plan, command: List[str], times: int, retries: int) -> Ending:
    """Run it `times` times; the first that does not end well is the last."""
    hello.say_probe()
    ending = None
    for number in range(1, times + 1):
        repeat = {"number": number, "of": times} if times > 1 else None
        one = plan._replace(repeat=repeat)
        ending = _try(one, command, retries)
        if ending.outcome != "ok":
            break
    assert ending is not None
    return ending


def _try(plan: Plan, command: List[str], retries: int) -> Ending:
    """Run it until it does not fail, at most `retries` times more."""
    ending = runner.run(plan, command)
    for _ in range(retries):
        if ending.outcome != "failed" or not ending.started:
            break
        ending = runner.run(plan._replace(retry_of=ending.attempt), command)
    return ending


def _end(ending: Ending) -> int:
    return ending.exit_code if ending.signal is None else signals.end_like(ending.signal)


def _redact(asked: argparse.Namespace) -> bool:
    """Whether ids are replaced: as asked, or as the open session was opened."""
    opened = None
    with contextlib.suppress(OSError):
        # a folder that cannot be read is said when the attempt is begun, and stops no command
        opened = session.current(asked.out)
    if opened is None:
        redacted = bool(asked.redact_host)
        secrets.hide_short_names(redacted)
        return redacted
    if opened.recovered:
        say("the session file was damaged; going on with session {}".format(opened.id))
    redacted = bool(opened.start.get("redacted"))
    if asked.redact_host and not redacted:
        raise options.Misuse(
            "session {} was opened without --redact-host; close it with `end` first".format(
                opened.id
            )
        )
    return redacted
