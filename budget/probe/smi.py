"""`nvidia-smi` as a source: what its values mean, and one child that goes on telling them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .secrets import clean

MIB = 2**20
# The driver states an unknown size as the largest integer.
UNKNOWN_SIZE = 2**63

# Words for a value that is not stated; others stand in square brackets.
UNSTATED = (
    "",
    "-",
    "N/A",
    "ERR!",
    "Unknown",
    "Unknown Error",
    "Not Supported",
    "Not available in WDDM driver model",
    "GPU is lost",
)
# Two of them say that the card has no such quantity, the others that it could not be read.
UNSUPPORTED = ("[N/A]", "[Not Supported]")

SAMPLED = ("index", "memory.used", "utilization.gpu", "power.draw")
# The tool itself takes up to half a second for a round on hosts with many cards.
SHORTEST_INTERVAL_S = 0.5
PIECE_BYTES = 65536
LONGEST_LINE_BYTES = 4096
REAP_S = 1.0
PR_SET_PDEATHSIG = 1

NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?:\s*(\S+))?")


class Row(NamedTuple):
    """One card at one moment; None is what it does not tell."""

    card: int
    used_bytes: Optional[int]
    utilisation_percent: Optional[float]
    power_w: Optional[float]


def stated(value: str) -> Optional[str]:
    """A value as written, or None if it is one of the words for none."""
    value = value.strip()
    return None if value.startswith("[") or value in UNSTATED else value


def size_bytes(value: Optional[str]) -> Optional[int]:
    """Bytes of a size such as `81559 MiB`; None for an unknown one and for another unit."""
    number = _number(value, "MiB")
    if number is None or number != int(number):
        return None
    size = int(number) * MIB
    return size if size < UNKNOWN_SIZE else None


def row(line: str) -> Optional[Row]:
    """The reading in one line of the answer; None for a header, a message or half a line."""
    words = [word.strip() for word in line.split(",")]
    if len(words) != len(SAMPLED) or not words[0].isdigit() or not words[0].isascii():
        return None
    percent = _number(words[2], "%")
    return Row(
        int(words[0]),
        size_bytes(words[1]),
        percent if percent is not None and percent <= 100 else None,
        _number(words[3], "W") or None,
    )


class Loop:
    """One `nvidia-smi` that writes a round every interval until this process closes it or ends.

    `ended` says how it ended before that, `answered` whether it ever named a card. Nothing here
    waits for it. Raises OSError if it cannot be started.
    """

    def __init__(self, program: str, interval_s: float) -> None:
        self.answered = False
        self.ended: Optional[str] = None
        self._rest = b""
        self._said = ""
        milliseconds = int(max(interval_s, SHORTEST_INTERVAL_S) * 1000)
        self._child = subprocess.Popen(
            [
                program,
                "--query-gpu=" + ",".join(SAMPLED),
                "--format=csv,noheader",
                "--loop-ms={}".format(milliseconds),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # a session of its own: neither the terminal's Ctrl-C nor its end reaches the child
            start_new_session=True,
            preexec_fn=_tie_to(os.getpid()),
        )
        assert self._child.stdout is not None
        self._pipe = self._child.stdout.fileno()
        os.set_blocking(self._pipe, False)

    def read(self) -> List[Row]:
        """The newest row of each card since the last call; empty if there is none."""
        content, more = self._drain()
        *lines, self._rest = (self._rest + content).split(b"\n")
        if len(self._rest) > LONGEST_LINE_BYTES:
            self._rest = b""
        newest: Dict[int, Row] = {}
        for line in lines:
            text = line.decode("utf-8", "replace").strip()
            reading = row(text)
            if reading is not None:
                newest[reading.card] = reading
                self.answered = True
            else:
                self._said = self._said or text
        if not more and self.ended is None:
            said = self._said or self._rest.decode("utf-8", "replace").strip() or "it ended"
            self.ended = clean("nvidia-smi failed: {}".format(said))[:200]
        return list(newest.values())

    def close(self) -> None:
        """End the child and everything that it started, and wait for it, but not for long."""
        # once it was waited for, its number may be another's
        if self._child.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(self._child.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(REAP_S)
        if self._child.stdout is not None:
            self._child.stdout.close()

    def _drain(self) -> Tuple[bytes, bool]:
        """All there is to read, and whether more may come."""
        if self.ended is not None:
            return b"", False
        content = b""
        while True:
            try:
                piece = os.read(self._pipe, PIECE_BYTES)
            except BlockingIOError:
                return content, True
            if not piece:
                return content, False
            content += piece


def _number(value: Optional[str], unit: str) -> Optional[float]:
    match = NUMBER.fullmatch((value or "").strip())
    if match is None or match.group(2) not in (None, unit):
        return None
    return float(match.group(1))


def _tie_to(parent: int) -> Callable[[], None]:
    """What the child does before it becomes the tool: take signals, and end with its parent.

    Elsewhere than on Linux it ends at its next round, for lack of a reader.
    """
    prctl: Any = None
    if sys.platform.startswith("linux"):
        with contextlib.suppress(Exception):
            import ctypes

            prctl = ctypes.CDLL(None).prctl

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if prctl is not None:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL.value, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

    return prepare
