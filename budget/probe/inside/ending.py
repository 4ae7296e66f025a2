"""Writes what is still open when the process ends or becomes another program.

SIGTERM has no handler: Python would run it only when the native code that is running returns, so a
process that waits for its peers could no longer be ended by that signal.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from typing import Any, Callable

from . import automatic, errors
from .state import guard, is_probe, state, wrote
from .wrapping import replace

LIBRARIES = ("torch", "transformers", "diffusers", "vllm")
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash", "fish")


def prepare() -> None:
    """Have the ends of this process pass here; atexit does already."""
    for name in ("_exit", "execv", "execve"):
        replace(os, name, _ending)
    if not hasattr(threading.excepthook, "_compute_budget_watched"):
        threading.excepthook = _of_thread(threading.excepthook)


def finish() -> None:
    """Write the end of the run, and the exception that ends the program."""
    if is_probe():
        return
    failure = getattr(sys, "last_value", None)
    if isinstance(failure, KeyboardInterrupt):
        failure = None
    if failure is not None and (wrote() or _is_program()):
        errors.record(failure, state.phases[-1] if state.phases else None, "hook")
    guard(automatic.finish)


def _ending(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def end(*args: Any, **kwargs: Any) -> Any:
        finish()
        return original(*args, **kwargs)

    return end


def _of_thread(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def hook(args: Any, *rest: Any) -> Any:
        try:
            if wrote():
                errors.record(args.exc_value, None, "hook")
        except Exception:
            pass
        return original(args, *rest)

    hook._compute_budget_watched = True  # type: ignore[attr-defined]
    return hook


def _is_program() -> bool:
    """Whether this process is what was to be measured, and no helper of it.

    That is: it uses a library that is watched, the probe started it, or a shell did.
    """
    if any(name in sys.modules for name in LIBRARIES):
        return True
    parent = os.getppid()
    hello = os.environ.get("COMPUTE_BUDGET_PROBE_HELLO", "")
    if "-{}-".format(parent) in os.path.basename(hello):
        return True
    try:
        with open("/proc/{}/comm".format(parent), encoding="ascii", errors="replace") as file:
            return file.read().strip() in SHELLS
    except OSError:
        return False
