"""What LOG.md says of each key's type, and whether a record keeps to it."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterator, List, Tuple

from .log import EVENTS, Record

HEADING = re.compile(r"#{2,3} (.+)")
ROW = re.compile(r"\| `([\w.]+)` \| ([^|]+) \|")
ALTERNATIVES = re.compile(r",\s*(?:or\s+)?|\s+or\s+")
# Sections that speak of other events than their heading names.
SHARED = {"Every record": EVENTS, "Memory": ("attempt.end", "phase.end")}
# How a number is written that JSON cannot express.
NO_NUMBERS = ("nan", "inf", "-inf")

UNITS = ("_s", "_ns", "_bytes", "_tokens", "_size", "_w", "_percent")

Keys = Dict[str, Tuple[str, ...]]


def documented() -> Dict[str, Keys]:
    """By event the types of its keys; a key within an object is written `host.os`.

    Raises OSError if the documentation is not beside this module.
    """
    tables: Dict[str, Keys] = {event: {} for event in EVENTS}
    events: Tuple[str, ...] = ()
    for line in _text().splitlines():
        heading = HEADING.match(line)
        if heading:
            title = heading.group(1).strip()
            stated = SHARED.get(title, tuple(title.split(", ")))
            events = tuple(event for event in stated if event in tables)
        row = ROW.match(line)
        if row:
            types = tuple(word for word in ALTERNATIVES.split(row.group(2).strip()) if word)
            for event in events:
                tables[event][row.group(1)] = types
    return tables


def wrong_types(record: Record, keys: Keys) -> List[str]:
    """What a record states in another type than documented; keys not documented are free."""
    problems = []
    for path, types in keys.items():
        for value in _values(record, path.split(".")):
            if not any(_is(value, kind) for kind in types):
                problems.append(
                    "`{}` is {}, and is to be {}".format(path, _name(value), " or ".join(types))
                )
    return problems


def negatives(value: Any, path: str = "") -> Iterator[str]:
    """The paths of quantities below 0: none of those with a unit in its key can be."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from negatives(item, "{}.{}".format(path, key) if path else str(key))
    elif isinstance(value, list):
        for item in value:
            yield from negatives(item, path)
    elif isinstance(value, (int, float)) and value < 0 and path.endswith(UNITS):
        yield path


def _values(value: Any, keys: List[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _values(item, keys)
    elif not keys:
        yield value
    elif isinstance(value, dict) and keys[0] in value:
        inner = value[keys[0]]
        if len(keys) == 1:
            yield inner
        else:
            yield from _values(inner, keys[1:])


def _is(value: Any, kind: str) -> bool:
    if kind == "list of text":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind == "number":
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number or (isinstance(value, str) and value in NO_NUMBERS)
    return {
        "text": isinstance(value, str),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "true": value is True,
        "false": value is False,
        "null": value is None,
        "list": isinstance(value, list),
        "object": isinstance(value, dict),
    }.get(kind, True)


def _name(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", str: "text", int: "an integer", float: "a number"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")


def _text() -> str:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "LOG.md")
    loader: Any = globals().get("__loader__")
    # within an archive only the loader can read it
    data: bytes = loader.get_data(path)
    return data.decode("utf-8")
