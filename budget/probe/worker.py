"""A thread that asks what may be slow, so that nobody has to wait for the answer."""

from __future__ import annotations

import signal
import threading
from typing import Callable, Generic, Optional, TypeVar

Answer = TypeVar("Answer")


class Worker(Generic[Answer]):
    """Calls a function again and again, one call at a time, each when it is asked for.

    The thread takes no signal, and a call that never ends does not keep the process alive.
    """

    def __init__(self, function: Callable[[], Answer]) -> None:
        self._function = function
        self._asked = threading.Semaphore(0)
        self._answered = threading.Semaphore(0)
        self._pending = False
        self._closed = False
        self._answer: Optional[Answer] = None
        self._problem: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        # the thread inherits the mask: a signal meant for the main thread must reach it there
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def ask(self, patience_s: float) -> Optional[Answer]:
        """The answer, or None if there is none within `patience_s`: then the next call gets it.

        Raises what the function raised.
        """
        if not self._pending:
            self._pending = True
            self._asked.release()
        if not self._answered.acquire(timeout=max(0.0, patience_s)):
            return None
        self._pending = False
        answer, problem = self._answer, self._problem
        self._answer = self._problem = None
        if problem is not None:
            raise problem
        return answer

    def close(self, patience_s: float) -> None:
        """End the thread; one that is still at work after `patience_s` is left alone."""
        self._closed = True
        self._asked.release()
        self._thread.join(patience_s)

    def _work(self) -> None:
        while True:
            self._asked.acquire()
            if self._closed:
                return
            try:
                self._answer = self._function()
            except BaseException as problem:
                self._problem = problem
            self._answered.release()
