"""Importers: each turns the bytes of one log format into an ``ImportedLog``.

An importer is a module with ``FORMAT``, ``sniff(name, data)`` and ``read(name, data)``; to add one,
write the module and put it into ``ALL``. Importers get bytes and never open a file themselves.
"""

from __future__ import annotations

from typing import Protocol

from budget.attempts import ImportedLog
from budget.importers.contents import describe
from budget.messages import Problem, Quantity, msg

from . import probe_log

# A day of a busy probe is a few MiB; a larger file is nearly always something else, and reading
# it would hold up everybody who uses the same server.
MAX_BYTES = 64 * 1024 * 1024


class Importer(Protocol):
    """What a module in ``ALL`` provides."""

    FORMAT: str

    def sniff(self, name: str, data: bytes) -> bool:
        """Return whether the file is of this format; must be cheap and must not raise."""

    def read(self, name: str, data: bytes) -> ImportedLog:
        """Read the file; whatever cannot be read becomes a problem, never an exception."""


ALL: tuple[Importer, ...] = (probe_log,)


def read(name: str, data: bytes) -> ImportedLog:
    """Read ``data`` with the one importer that claims it.

    Never raises on any bytes. Without exactly one claim the log has the format ``unknown`` and
    one problem, which says what the file looks like and what to do with it.
    """
    if len(data) > MAX_BYTES:
        return _unknown(name, Problem(
            name,
            msg("the file has {size}; at most {limit} are read",
                size=Quantity(len(data), "bytes"), limit=Quantity(MAX_BYTES, "bytes")),
            msg("upload the log of each session as a file of its own, as `probe end` writes it"),
        ))  # fmt: skip
    claims = [importer for importer in ALL if importer.sniff(name, data)]
    if not claims:
        return _unknown(name, describe(name, data))
    if len(claims) > 1:
        return _unknown(name, Problem(
            name,
            msg("the file could be any of these formats: {formats}",
                formats=tuple(importer.FORMAT for importer in claims)),
            msg("upload the file as the program wrote it, with nothing else in it"),
        ))  # fmt: skip
    return claims[0].read(name, data)


def _unknown(name: str, problem: Problem) -> ImportedLog:
    return ImportedLog(name=name, format="unknown", problems=(problem,))
