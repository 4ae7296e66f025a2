"""From a tree of texts to typed values: every value that is refused becomes a problem."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from budget.messages import Message, Problem, msg
from budget.numerals import read_number, shortened, unambiguous
from budget.project import CURRENCY_PATTERN, ID_PATTERN
from budget.yamltext import Path

DROPPED = object()
"""Marks a value that was refused, so that its field falls back to "nobody has said"."""


def clean(kind: Any, raw: Any, path: Path, complain: Any, kept: dict[Path, list[int]]) -> Any:
    """Return ``raw`` with numbers in canonical text and refused values dropped."""
    kind, meta = _unwrapped(kind)
    if raw is None or raw is DROPPED:
        return raw
    origin = get_origin(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _clean_struct(kind, raw, path, complain, kept)
    if origin is tuple:
        if not isinstance(raw, list):
            complain(
                path,
                msg("{field} must be a list", field=named(path)),
                msg("write one item per line, each after a dash"),
            )
            return DROPPED
        item = get_args(kind)[0]
        items = [
            _clean_item(item, value, (*path, i), complain, kept) for i, value in enumerate(raw)
        ]
        kept[path] = [i for i, value in enumerate(items) if value is not DROPPED]
        return [value for value in items if value is not DROPPED]
    if origin is dict:
        return _clean_dict(kind, raw, path, complain, kept)
    if isinstance(raw, (dict, list)):
        complain(
            path,
            msg("{field} must be one value", field=named(path)),
            msg("write the value on the same line"),
        )
        return DROPPED
    return _clean_value(kind, meta, raw, path, complain)


def _clean_item(kind: Any, raw: Any, path: Path, complain: Any, kept: dict[Path, list[int]]) -> Any:
    if raw is None and not _allows_none(kind):
        complain(
            path, msg("{field} is empty", field=named(path)), msg("fill it or remove the dash")
        )
        return DROPPED
    return clean(kind, raw, path, complain, kept)


def _clean_struct(
    kind: type[msgspec.Struct], raw: Any, path: Path, complain: Any, kept: dict[Path, list[int]]
) -> Any:
    if not isinstance(raw, dict):
        complain(
            path,
            msg("{field} must hold keys and values", field=named(path)),
            msg("write `key: value` lines below it"),
        )
        return DROPPED
    hints = get_type_hints(kind, include_extras=True)
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    cleaned: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in fields:
            complain(
                (*path, key),
                msg("the key {key} is unknown here", key=shortened(key)),
                msg("known keys: {keys}", keys=tuple(fields)),
            )
            continue
        result = clean(hints[key], value, (*path, key), complain, kept)
        if result is None and not _allows_none(hints[key]):
            continue  # an empty field is "not said", which is what its default means
        if result is not DROPPED:
            cleaned[key] = result
    for name, field in fields.items():
        if field.required and name not in cleaned:
            if raw.get(name) is None:
                complain(
                    path,
                    msg("{field} needs {key}", field=named(path), key=name),
                    msg("add `{key}: …`", key=name),
                )
            return DROPPED
    return cleaned


def _clean_dict(kind: Any, raw: Any, path: Path, complain: Any, kept: dict[Path, list[int]]) -> Any:
    if not isinstance(raw, dict):
        complain(
            path,
            msg("{field} must hold keys and values", field=named(path)),
            msg("write `key: value` lines below it"),
        )
        return DROPPED
    key_kind, value_kind = get_args(kind)
    cleaned = {}
    for key, value in raw.items():
        inner = (*path, key)
        if get_origin(key_kind) is Literal and key not in get_args(key_kind):
            complain(
                inner,
                msg("the key {key} is unknown here", key=shortened(key)),
                msg("known keys: {keys}", keys=get_args(key_kind)),
            )
            continue
        result = clean(value_kind, value, inner, complain, kept)
        if result is not DROPPED and (result is not None or _allows_none(value_kind)):
            cleaned[key] = result
    return cleaned


def _clean_value(kind: Any, meta: list[msgspec.Meta], raw: str, path: Path, complain: Any) -> Any:
    name, shown = named(path), shortened(raw)
    if kind in (int, float, Decimal):
        number = read_number(raw, name)
        if isinstance(number, Problem):
            complain(path, msg("{field}: {what}", field=name, what=number.what), number.do_next)
            return DROPPED
        if kind is int and number != number.to_integral_value():
            complain(
                path,
                msg("{field} is {text}, but must be a whole number", field=name, text=shown),
                msg("write a whole number"),
            )
            return DROPPED
        if (bound := _bound_broken(meta, number)) is not None:
            complain(
                path,
                msg("{field} is {text}, but must be {bound}", field=name, text=shown, bound=bound),
                msg("correct it, or leave it empty if unknown"),
            )
            return DROPPED
        return unambiguous(format(number.to_integral_value() if kind is int else number, "f"))
    if kind is date and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", raw):
        complain(
            path,
            msg("{field} is {text}, which is no date", field=name, text=shown),
            msg("write year-month-day, such as 2027-01-11"),
        )
        return DROPPED
    if get_origin(kind) is Literal and raw not in get_args(kind):
        complain(
            path,
            msg("{field} is {text}, which is not one of the choices", field=name, text=shown),
            msg("choose one of: {choices}", choices=get_args(kind)),
        )
        return DROPPED
    annotated = kind
    for item in meta:
        annotated = Annotated[annotated, item]
    try:
        msgspec.convert(raw, annotated, strict=False)
    except msgspec.ValidationError:
        expected: dict[Any, Message] = {
            bool: msg("write true or false"),
            date: msg("write a day that exists, such as 2027-01-11"),
            ID_PATTERN: msg("use up to 64 letters, digits, dots, dashes or underscores"),
            CURRENCY_PATTERN: msg("write three capital letters, such as EUR"),
        }
        wanted = next((item.pattern for item in meta if item.pattern), kind)
        complain(
            path,
            msg("{field} is {text}, which is not allowed here", field=name, text=shown),
            expected.get(wanted, msg("write it differently")),
        )
        return DROPPED
    return raw


def as_typed(path: Path, kept: dict[Path, list[int]]) -> Path:
    """Return the path as it stands in the file, where refused list items still count."""
    typed: Path = ()
    for part in path:
        if isinstance(part, int) and typed in kept and part < len(kept[typed]):
            part = kept[typed][part]
        typed = (*typed, part)
    return typed


def _bound_broken(meta: list[msgspec.Meta], number: Decimal) -> Message | None:
    for item in meta:
        extra = item.extra or {}
        least = extra.get("ge", item.ge)
        above = extra.get("gt", item.gt)
        most = extra.get("le", item.le)
        if least is not None and number < least:
            return msg("at least {bound}", bound=least)
        if above is not None and number <= above:
            return msg("more than {bound}", bound=above)
        if most is not None and number > most:
            return msg("at most {bound}", bound=most)
    return None


def _unwrapped(kind: Any) -> tuple[Any, list[msgspec.Meta]]:
    """Strip ``| None`` and ``Annotated``; return the bare type and its constraints."""
    meta: list[msgspec.Meta] = []
    while True:
        if get_origin(kind) is Annotated:
            kind, *extra = get_args(kind)
            meta.extend(item for item in extra if isinstance(item, msgspec.Meta))
        elif get_origin(kind) in (Union, UnionType):
            kind = next(item for item in get_args(kind) if item is not NoneType)
        else:
            return kind, meta


def _allows_none(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind)


def named(path: Path) -> str:
    """Return a path as people write it: ``blocks[2].planned_runs``, counted from 1."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the document"
