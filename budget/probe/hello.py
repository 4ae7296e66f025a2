"""Brings the probe into the Python processes of a command, and learns whether it came there."""

from __future__ import annotations

import contextlib
import os
from typing import Dict, List, NamedTuple, Optional, Sequence

from .session import HELLO_VARIABLE

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook")

LOADED = "loaded"
IDLE = "idle"
NOT_LOADED = "not-loaded"

SUFFIX = ".hello"

SWITCHED_OFF = "it was switched off with --no-hook"

# What starts a command in an environment of its own.
CONTAINERS = ("docker", "podman", "singularity", "apptainer", "enroot", "shifter", "nerdctl")
REMOTE = ("ssh", "pdsh", "kubectl", "sbatch", "qsub", "bsub")
# Flags of Python without which it reads no PYTHONPATH or no sitecustomize.
FLAGS = {"I": "isolates itself", "E": "ignores PYTHONPATH", "S": "imports no site"}


class Answer(NamedTuple):
    """`state` is one of the three above; `why` is None for `loaded`."""

    state: str
    why: Optional[str]


def variables(path: str, environ: Dict[str, str]) -> Dict[str, str]:
    """What is set for a command so that its Python processes load the hook and say so at `path`."""
    present = environ.get("PYTHONPATH")
    rest = [part for part in (present or "").split(os.pathsep) if part != HOOK]
    # an empty part means the working folder; a variable that was not set has no part
    parts = [HOOK, *rest] if present else [HOOK]
    return {"PYTHONPATH": os.pathsep.join(parts), HELLO_VARIABLE: path}


def without_hook(environ: Dict[str, str]) -> Dict[str, str]:
    """What is set for a command that must not load the hook of a run around it."""
    present = environ.get("PYTHONPATH", "").split(os.pathsep)
    if HOOK not in present:
        return {}
    return {"PYTHONPATH": os.pathsep.join(part for part in present if part != HOOK)}


def answer(path: str, command: Sequence[str]) -> Answer:
    """What the command's processes said, and why they said nothing as far as that can be told."""
    said: Dict[str, List[str]] = {}
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            pid, _, word = line.strip().partition(" ")
            said.setdefault(pid, []).append(word)
    programs = [words for words in said.values() if "probe" not in words]
    if any("recorded" in words for words in programs):
        return Answer(LOADED, None)
    if programs:
        return Answer(IDLE, "no library that it watches was used")
    return Answer(NOT_LOADED, _why(command))


def say_probe() -> None:
    """Tell the run around this one that this Python process is the probe's own."""
    path = os.environ.get(HELLO_VARIABLE)
    if path:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(descriptor, "{} probe\n".format(os.getpid()).encode())
            finally:
                os.close(descriptor)


def remove(path: str) -> None:
    """Forget what was said."""
    with contextlib.suppress(OSError):
        os.remove(path)


def sweep(folder: str, session: str) -> None:
    """Forget what was said to probes of a session that were killed."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(session + "-") and name.endswith(SUFFIX):
                remove(os.path.join(folder, name))


def _why(command: Sequence[str]) -> str:
    names = [os.path.basename(word) for word in command]
    for name in names:
        if name in CONTAINERS:
            return "{} runs the program in an environment of its own".format(name)
        if name in REMOTE:
            return "{} runs the program elsewhere".format(name)
    if "env" in names and any(word in ("-i", "-", "--ignore-environment") for word in command):
        return "env -i takes PYTHONPATH away"
    for place, name in enumerate(names):
        if not name.startswith(("python", "pypy")):
            continue
        for word in command[place + 1 :]:
            if not word.startswith("-") or word in ("-c", "-m", "-"):
                break
            for flag, effect in FLAGS.items():
                if not word.startswith(("--", "-W", "-X")) and flag in word[1:]:
                    return "python -{} {}".format(flag, effect)
        return "this Python did not load it"
    return "no Python process of the command loaded it"
