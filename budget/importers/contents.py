"""What a file looks like that no importer claims, in words that help the person who chose it."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

from budget.messages import Message, Problem, msg

MAX_KEYS = 12
"""Top-level keys of a JSON document that are named; more would hide the sentence around them."""

PROJECT = re.compile(r"""^\ufeff?\s*["']?schema["']?\s*:\s*["']?compute-budget/\d""", re.MULTILINE)
COMPRESSED: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
)

UPLOAD_A_LOG = msg("upload the log that `probe end` wrote (its name ends in .jsonl)")


def describe(name: str, data: bytes) -> Problem:
    """Return the problem that says what ``data`` is instead of a log, and what to do next."""
    if not data:
        return Problem(
            name,
            msg("nothing was written in it: was the disk full?"),
            msg("see in the log folder whether the probe wrote anything, and upload that file"),
        )
    if not data.strip(b" \t\r\n\x00" + codecs.BOM_UTF8):
        return Problem(
            name,
            msg("the file is empty"),
            msg("see in the log folder whether the probe wrote anything, and upload that file"),
        )
    kind = compression(data)
    if kind is not None:
        return Problem(
            name,
            msg("this is a compressed file ({kind})", kind=kind),
            msg("unpack it and upload the log inside; this version does not unpack files"),
        )
    if looks_utf16(data):
        return Problem(
            name,
            msg("this is text in UTF-16, not in UTF-8: was it saved by PowerShell's `>`?"),
            msg("upload the file as the probe wrote it, or save it again as UTF-8"),
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Problem(
            name,
            msg("this is not text in UTF-8 (byte {position} does not fit)", position=error.start),
            UPLOAD_A_LOG,
        )
    if "\x00" in text:
        return Problem(name, msg("this is not a text file: it holds zero bytes"), UPLOAD_A_LOG)
    if PROJECT.search(text):
        return _project(name)
    return _json(name, text) or Problem(
        name, msg("this is plain text; it begins: {start}", start=_start(text)), UPLOAD_A_LOG
    )


def compression(data: bytes) -> str | None:
    """Return what ``data`` is packed with, or None."""
    return next((kind for magic, kind in COMPRESSED if data.startswith(magic)), None)


def looks_utf16(data: bytes) -> bool:
    """Return whether ``data`` is UTF-16: by its mark, or by zeros in every second byte."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    head = data[:400]
    zeros = max(head[0::2].count(0), head[1::2].count(0))
    # ASCII in UTF-16 has zeros in one half and none in the other; binary files have them in both.
    return len(head) >= 8 and zeros > len(head) * 0.45 and head.count(0) < len(head) * 0.55


def _json(name: str, text: str) -> Problem | None:
    found, lines = _parsed(text), False
    if found is None:
        found, lines = _parsed(text.lstrip().split("\n", 1)[0]), True
    what: Message
    if isinstance(found, dict):
        if str(found.get("schema", "")).startswith("compute-budget/"):
            return _project(name)
        keys = tuple(str(key)[:60] for key in list(found)[:MAX_KEYS])
        if not keys:
            what = msg("this is JSON, but not a log of the probe: it is an empty object")
        elif lines:
            what = msg(
                "these are JSON lines, but not a log of the probe; the first has the keys {keys}",
                keys=keys,
            )
        else:
            what = msg("this is JSON, but not a log of the probe; its keys are {keys}", keys=keys)
    elif isinstance(found, list):
        what = msg("this is a JSON list, not a log of the probe, which has one record per line")
    else:
        return None
    return Problem(name, what, UPLOAD_A_LOG)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _project(name: str) -> Problem:
    return Problem(
        name,
        msg("this is a project document, not a log"),
        msg(
            "open it as the project, as in `compute-budget decide {name} LOG…`; only logs are"
            " read here",
            name=name,
        ),
    )


def _start(text: str) -> str:
    first = text.strip().split("\n", 1)[0].strip()
    return first if len(first) <= 60 else first[:60] + "…"
