"""Writes ``docs/project-document.md`` from the records of ``budget.project``.

Run ``python tests/document_schema.py > docs/project-document.md`` after changing them.
"""

from __future__ import annotations

import inspect
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT

from budget import project

HEAD = """# The project document

One YAML file holds everything a person decided or typed; measurements stay in logs. Every scalar
is read as text and typed by the tables below, so `yes`, `550.54` and `0123456` stay what was meant.
`null` means that nobody has said: it is shown as missing. Duplicate keys, anchors, aliases, tags
and unknown keys are problems. Numbers may be written as `1234.50`, `1 234,50` or `1.234,50`; what
can be read in two ways (`1.000`) is a problem that asks.

`schema: compute-budget/1` stands first. `sample_logs/project.yaml` is an example.
"""


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    seen: list[type] = []
    queue: list[tuple[str, type]] = [("The document", project.Project)]
    while queue:
        title, kind = queue.pop(0)
        if kind in seen:
            continue
        seen.append(kind)
        parts.append(f"## {title}\n\n{inspect.getdoc(kind)}\n\n" + _table(kind, queue))
    return "\n".join(parts)


def _table(kind: type, queue: list[tuple[str, type]]) -> str:
    hints = get_type_hints(kind, include_extras=True)
    rows = ["| key | value | default |", "|---|---|---|"]
    for field in msgspec.structs.fields(kind):
        text = _type(hints[field.name], queue, field.name)
        rows.append(f"| `{field.name}` | {text} | {_default(field)} |")
    return "\n".join(rows) + "\n"


def _type(hint: Any, queue: list[tuple[str, type]], name: str) -> str:
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *meta = get_args(hint)
        return _type(inner, queue, name) + "".join(_bounds(item) for item in meta)
    if origin in (Union, UnionType):
        given = [item for item in get_args(hint) if item is not NoneType]
        return _type(given[0], queue, name) + " or `null`"
    if origin is tuple:
        return "list of " + _type(get_args(hint)[0], queue, name)
    if origin is dict:
        key, value = get_args(hint)
        keys = f" (keys: {_type(key, queue, name)})" if get_origin(key) is Literal else ""
        return "map to " + _type(value, queue, name) + keys
    if origin is Literal:
        return ", ".join(f"`{item}`" for item in get_args(hint))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        queue.append((hint.__name__, hint))
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return {
        "str": "text",
        "int": "whole number",
        "float": "number",
        "Decimal": "exact number",
        "bool": "`true` or `false`",
        "date": "day, `2027-01-11`",
    }[hint.__name__]


def _bounds(meta: Any) -> str:
    if not isinstance(meta, msgspec.Meta):
        return ""
    extra = meta.extra or {}
    bounds = [
        f"{word} {value}"
        for word, value in (
            ("at least", extra.get("ge", meta.ge)),
            ("more than", extra.get("gt", meta.gt)),
            ("at most", extra.get("le", meta.le)),
        )
        if value is not None
    ]
    text = f" ({', '.join(bounds)})" if bounds else ""
    if "unit" in extra:
        text += f", in {extra['unit']}: {meta.description}"
    return text


def _default(field: Any) -> str:
    if field.required:
        return "required"
    if field.default is NODEFAULT:
        return "empty"
    if isinstance(field.default, msgspec.Struct) or field.default in ((), {}):
        return "empty"
    if field.default is None:
        return "`null`"
    value = str(field.default)
    return f"`{value.lower() if isinstance(field.default, bool) else value}`"


if __name__ == "__main__":
    print(page(), end="")
