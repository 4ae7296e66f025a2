"""Commands to copy: the probe started for a block of the plan, on a host, with torchrun, in Slurm.

What the plan states of a block stands in the command, quoted for a shell; what it does not state
is left out, never guessed. The command that is measured stays to be filled in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from budget.messages import Message, msg
from budget.project import Block, Result

Launcher = Literal["host", "torchrun", "slurm"]
LAUNCHERS: tuple[Launcher, ...] = get_args(Launcher)
NAMES: dict[Launcher, Message] = {
    "host": msg("one machine"),
    "torchrun": msg("torchrun"),
    "slurm": msg("Slurm"),
}

PROBE = "python3 probe.pyz"
OWN_SCRIPT = "eval.py"
"""Stands for the program of the reader."""

CHECK = f"{PROBE} check"
WATCH = f"{PROBE} watch --detach"
WAIT = f"{PROBE} wait decision\n{PROBE} resume"
CHANGE = f'{PROBE} change --kind code --what "batch loop" --from 8 --to 4 --reason "out of memory"'
END = f"{PROBE} end"


def run(block: Block | None, results: Iterable[Result] = (), launcher: Launcher = "host") -> str:
    """Return the command that measures a block's condition, over several lines where it is long."""
    words = [f"{PROBE} run", *_options(block, results)]
    gpus = block.gpus if block else None
    if launcher == "torchrun":
        words.append(f"-- torchrun --nproc-per-node {gpus or 'gpu'} {OWN_SCRIPT}")
    else:
        words.append(f"-- python {OWN_SCRIPT}")
    if launcher == "slurm":
        tasks = f"--ntasks {gpus} --gpus-per-task 1 " if gpus else ""
        words[0] = f"srun {tasks}{words[0]}"
    return " \\\n  ".join(words)


def _options(block: Block | None, results: Iterable[Result]) -> list[str]:
    if block is None:
        return ["--block reference"]
    condition = block.condition
    options = [
        _option("--block", block.id),
        *(
            _option(name, str(value))
            for name, value in (
                ("--model", condition.model),
                ("--input-tokens", condition.input_tokens or None),
                ("--output-tokens", condition.output_tokens or None),
                ("--batch-size", condition.batch_size),
            )
            if value is not None
        ),
        *(_option("--param", f"{key}={value}") for key, value in condition.parameters.items()),
        *(_option("--expect", f"{name}={value}") for name, value in _expected(block, results)),
    ]
    return [option for option in options if option]


def _expected(block: Block, results: Iterable[Result]) -> Sequence[tuple[str, str]]:
    """Return the results of the paper that the block's place in the protocol names.

    A result of another row would be compared with the wrong run: only an equal reference counts.
    """
    found: dict[str, str] = {}
    for result in results:
        if result.metric and result.value and _same_place(result.ref, block.protocol_ref):
            found.setdefault(result.metric, result.value)
    return tuple(found.items())


def _same_place(one: str | None, other: str | None) -> bool:
    if not one or not other:
        return False
    return re.findall(r"\w+", one.lower()) == re.findall(r"\w+", other.lower())


def _option(name: str, value: str) -> str:
    """Return an option for a shell; a value with a line break or without a name is left out."""
    if any(ord(char) < 32 or ord(char) == 127 for char in value) or value.startswith("="):
        return ""
    # A value that begins with a dash would be read as an option of its own.
    return (
        f"{name}={shlex.quote(value)}" if value.startswith("-") else f"{name} {shlex.quote(value)}"
    )
