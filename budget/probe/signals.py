"""Signals that reach the probe while a command runs, and ending as the command ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set

# What ends or steers a command. A scheduler sends the user signals ahead of the time limit.
FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)

# Siginfo code of a signal that the Linux kernel sent itself, as a terminal's Ctrl-C.
SI_KERNEL = 0x80

# Python ignores these two; a command expects their default.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

# Without sigtimedwait (macOS) the end of the command is looked for this often.
POLL_S = 0.02


class Received(NamedTuple):
    """A signal; from the terminal it went to the whole foreground group."""

    number: int
    from_terminal: bool


class Inbox:
    """Signals held back from the probe, to be read one by one."""

    def __init__(self) -> None:
        # what the caller of the probe ignores (nohup) stays ignored by probe and command
        self.numbers: Set[int] = {
            number for number in FORWARDED if signal.getsignal(number) != signal.SIG_IGN
        }
        self._sigtimedwait: Any = getattr(signal, "sigtimedwait", None)
        self._arrived: List[int] = []
        self._before: Dict[int, Any] = {}
        self._mask: Optional[Set[Any]] = None

    def next(self, timeout_s: float) -> Optional[Received]:
        """The next signal, or None after `timeout_s` seconds or when the command may have ended."""
        if self._sigtimedwait is not None:
            info = self._sigtimedwait(self.numbers | {signal.SIGCHLD}, max(0.0, timeout_s))
            if info is None or info.si_signo == signal.SIGCHLD:
                return None
            return Received(info.si_signo, info.si_code == SI_KERNEL)
        if not self._arrived:
            time.sleep(min(max(0.0, timeout_s), POLL_S))
        if not self._arrived:
            return None
        number = self._arrived.pop(0)
        return Received(number, number != signal.SIGTERM and _in_foreground())

    def block(self) -> None:
        if self._sigtimedwait is None:
            for number in self.numbers:
                self._before[number] = signal.signal(
                    number, lambda received, frame: self._arrived.append(received)
                )
            return
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, self.numbers | {signal.SIGCHLD})
        self._mask = mask

    def start(self, command: Sequence[str], environment: Dict[str, str]) -> int:
        """Start a command that inherits no held signal; its process id. Raises OSError.

        The program is looked for on `PATH`. No code of ours runs between fork and exec: that would
        not be safe beside another thread.
        """
        options: Dict[str, Any] = {"setsigdef": _IGNORED_BY_PYTHON}
        if self._mask is not None:
            options["setsigmask"] = self._mask
        return os.posix_spawnp(command[0], list(command), environment, **options)

    def release(self) -> None:
        """Hold nothing back any longer: what has arrived meanwhile acts now."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        for number in self._arrived:
            os.kill(os.getpid(), number)


_held: Optional[Inbox] = None


@contextlib.contextmanager
def held() -> Iterator[Inbox]:
    """Hold signals back from here on; needs the main thread and no other.

    They stay held until `release`, after the end as well: a late Ctrl-C must not cut the last
    records off.
    """
    global _held
    inbox = _held = Inbox()
    inbox.block()
    yield inbox


def release() -> None:
    """Hold nothing back any longer: what has arrived since acts now."""
    global _held
    if _held is not None:
        inbox, _held = _held, None
        inbox.release()


def name(number: int) -> str:
    """`SIGTERM` for 15; the number itself where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "SIG{}".format(number)


def end_like(number: int) -> int:
    """End this process by the signal that ended the command; returns 128 + n if it survives."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        # the command has left its core file already
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    with contextlib.suppress(OSError, ValueError):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    return 128 + number


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
