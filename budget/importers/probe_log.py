"""The log of the probe, format ``compute-budget-log/1``; the format is described in probe/LOG.md.

The contract of this reader:

- One JSON object per line. Every record has ``event``, ``t`` (RFC 3339 with a zone), ``mono_ns``,
  ``session`` and ``pid``. Unknown events and keys are ignored; a process that presents itself with
  a newer version is not read. A byte-identical copy of a record counts once.
- Wherever a value is not what it should be, it is None and a problem names the line. Nothing is
  filled in.
- An attempt holds what the process that started it wrote. What other processes or the API wrote
  inside it are fragments, one for each process, also when all stand in one merged file.
- ``Fact.key`` is ``{pid}-{mono_ns}-{event}`` of the line that begins the fact.
- A session lasts from the earliest ``reserved_since``, or its first record, to ``released_at`` or
  the ``t`` of ``session.end``. Without ``session.end`` it is open and ends with its last record.
- An attempt without ``attempt.end`` has no outcome and lasts to its last sign of life. A phase
  without ``phase.end`` did not end. A wait without ``wait.end`` ends with a closed session.
"""

from __future__ import annotations

from budget.attempts import ImportedLog
from budget.importers.contents import compression
from budget.importers.findings import Findings
from budget.importers.probe_attempts import read_attempts
from budget.importers.probe_sessions import read_sessions
from budget.importers.trail import SCHEMA, VERSION, gather

FORMAT = SCHEMA + VERSION
SNIFF_BYTES = 1024 * 1024
"""How far into a file the first record is looked for; what precedes it is console output."""


def sniff(name: str, data: bytes) -> bool:
    """Return whether a line near the beginning is a record of the probe, whole or torn."""
    # An archive may hold its files as they are, so that a log shows through.
    return compression(data) is None and any(
        b"{" in line
        and b'"event"' in line
        and (b'"mono_ns"' in line or f'"{SCHEMA}'.encode() in line)
        for line in data[:SNIFF_BYTES].split(b"\n")
    )


def read(name: str, data: bytes) -> ImportedLog:
    """Read a log, or any part of one; see the module for what is made of incomplete records."""
    findings = Findings(name)
    trail = gather(name, data, findings)
    attempts, fragments = read_attempts(trail)
    return ImportedLog(
        name=name,
        format=FORMAT,
        sessions=read_sessions(trail, attempts),
        attempts=attempts,
        fragments=fragments,
        problems=findings.problems(),
    )
