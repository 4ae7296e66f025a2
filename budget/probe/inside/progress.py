"""How far this process is: which watched functions run, and what has begun."""

from __future__ import annotations

import threading
from typing import Optional

from . import counters, moments

# Between two readings of the counters after calls: reading them at each would be felt.
READING_INTERVAL_S = 1.0


class Thread(threading.local):
    """How deep this thread is in watched functions."""

    loads = 0
    calls = 0
    generations = 0


class Load:
    """One union of load calls, which threads may make at the same time."""

    def __init__(self) -> None:
        self.began = moments.now()
        self.stretch = counters.Stretch()
        self.active = 0
        self.counts = False
        self.started = False
        self.failed = False


class Run:
    """From the first to the last watched call of a model."""

    def __init__(self) -> None:
        self.began = moments.now()
        self.ended: Optional[moments.Moment] = None
        self.stretch = counters.Stretch()
        self.read_at_s = -READING_INTERVAL_S
        self.unread = False
        self.active = 0
        self.forward_calls = 0
        self.failed = False


class Course:
    """What this process has done so far."""

    def __init__(self) -> None:
        self.prepared = False
        self.plain_loads = 0
        self.load: Optional[Load] = None
        self.run: Optional[Run] = None
        self.has_run = False
