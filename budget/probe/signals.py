"""Signals that reach the probe while a command runs, and ending as the command ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Set

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
        self.prepare_child: Optional[Callable[[], None]] = None

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
                signal.signal(number, lambda received, frame: self._arrived.append(received))
            return
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, self.numbers | {signal.SIGCHLD})
        # the command must not inherit the blocked signals
        self.prepare_child = lambda: _set_mask(mask)


@contextlib.contextmanager
def held() -> Iterator[Inbox]:
    """Hold signals back until the process ends; needs the main thread and no other.

    They stay held: a late Ctrl-C must not cut the last records off.
    """
    inbox = Inbox()
    inbox.block()
    yield inbox


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


def _set_mask(mask: Set[Any]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


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
