"""Reading and writing the project document, and what must agree inside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import yaml

from budget.messages import Message, Problem, msg
from budget.numerals import read_number, shortened, unambiguous
from budget.project import CURRENCY_PATTERN, ID_PATTERN, SCHEMA, Project
from budget.yamltext import Path, YamlText, read_yaml

_DROPPED = object()
"""Marks a value that was refused, so that its field falls back to "nobody has said"."""


class _Dumper(yaml.SafeDumper):
    """Writes texts with unusual line breaks escaped, since folding them would lose them."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if re.search("[\r\x85\u2028\u2029\ufeff]", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


class Document(msgspec.Struct, frozen=True):
    """A project as read, the lines it stands on, and the problems found (none: it is sound)."""

    project: Project | None
    source: YamlText
    problems: tuple[Problem, ...]


def read(data: bytes, name: str) -> Document:
    """Read a project document. All problems are collected, each with file, line and next step.

    ``project`` is None when the document cannot be used at all; with problems beside a project,
    the values they concern are left out of it.
    """
    source = read_yaml(data, name)
    if source.tree is None:
        if _is_json_lines(data):  # a measurement log
            return Document(None, source, (_not_a_plan(name),))
        return Document(None, source, source.problems or (_not_a_plan(name),))
    if not isinstance(source.tree, dict) or not {"title", "schema"} & set(source.tree):
        return Document(None, source, (*source.problems, _not_a_plan(name)))
    written_for = source.tree.get("schema")
    if isinstance(written_for, str) and written_for != SCHEMA:
        what = msg(
            "the document says schema {found}; this version reads {known}",
            found=shortened(written_for),
            known=SCHEMA,
        )
        do_next = msg("open it with the version that wrote it")
        where = f"{name}:{source.line(('schema',))}"
        return Document(None, source, (*source.problems, Problem(where, what, do_next)))
    problems: list[Problem] = list(source.problems)

    def complain(path: Path, what: Message, do_next: Message) -> None:
        problems.append(Problem(f"{name}:{source.line(path)}", what, do_next))

    project = _project_from(source.tree, complain)
    return Document(project, source, tuple(problems))


def from_tree(tree: dict[str, object]) -> tuple[Project | None, tuple[Problem, ...]]:
    """Turn a tree of texts, as a page's tables give it, into a project by the same checks.

    The problems name the path (``blocks[2].planned_runs``) instead of a file and line.
    """
    problems: list[Problem] = []

    def complain(path: Path, what: Message, do_next: Message) -> None:
        problems.append(Problem(named(path), what, do_next))

    return _project_from(_texts(tree), complain), tuple(problems)


def to_tree(project: Project) -> dict[str, Any]:
    """Return a project as the tree of plain values that ``write`` writes."""
    tree = msgspec.to_builtins(project, builtin_types=(Decimal,))
    defaults = msgspec.to_builtins(type(project.policy)(), builtin_types=(Decimal,))
    tree["policy"] = {key: value for key, value in tree["policy"].items() if value != defaults[key]}
    plain: dict[str, Any] = _plain({"schema": tree.pop("schema"), **tree})
    return plain


def write(project: Project) -> str:
    """Return the document as YAML text that ``read`` turns into the same project."""
    return yaml.dump(
        to_tree(project), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )


def _project_from(tree: Any, complain: Any) -> Project | None:
    kept: dict[Path, list[int]] = {}
    clean = _clean(Project, tree, (), complain, kept)
    if clean is _DROPPED:
        return None
    project = msgspec.convert(clean, Project, strict=False)
    for path, what, do_next in check(project):
        complain(_as_typed(path, kept), what, do_next)
    return project


def check(project: Project) -> Iterator[tuple[Path, Message, Message]]:
    """Yield what contradicts itself inside a project: (path, what, what to do next)."""
    lists: tuple[tuple[Path, Any], ...] = (
        (("environments",), project.environments),
        (("blocks",), project.blocks),
        (("quotes",), project.quotes),
        (("scope", "results"), project.scope.results),
        (("scope", "models"), project.scope.models),
        (("scope", "datasets"), project.scope.datasets),
    )
    for group, items in lists:
        seen: set[str] = set()
        for index, item in enumerate(items):
            if item.id in seen:
                yield (
                    (*group, index, "id"),
                    msg("the id {id} is used twice in {group}", id=item.id, group=named(group)),
                    msg("give each its own id"),
                )
            seen.add(item.id)
    environments = {item.id for item in project.environments}
    blocks = {item.id for item in project.blocks}
    for index, block in enumerate(project.blocks):
        where: Path = ("blocks", index)
        if block.status == "confirmed" and not (block.protocol_ref or "").strip():
            yield (
                (*where, "status"),
                msg(
                    "block {block} is confirmed by the protocol but says not where", block=block.id
                ),
                msg("give protocol_ref (table, section), or set the status to chosen"),
            )
        if block.environment is not None and block.environment not in environments:
            yield (
                (*where, "environment"),
                msg(
                    "block {block} names environment {environment}, which does not exist",
                    block=block.id,
                    environment=block.environment,
                ),
                msg("add the environment or choose one of those listed"),
            )
        for name in block.depends_on:
            if name not in blocks or name == block.id:
                yield (
                    (*where, "depends_on"),
                    msg(
                        "block {block} depends on {other}, which is no other block",
                        block=block.id,
                        other=name,
                    ),
                    msg("name another block of this plan"),
                )
        gpu_count = getattr(project.environment(block.environment), "gpu_count", None)
        if block.gpus is not None and gpu_count is not None and block.gpus > gpu_count:
            yield (
                (*where, "gpus"),
                msg(
                    "block {block} uses {used} GPUs, the machine has {there}",
                    block=block.id,
                    used=block.gpus,
                    there=gpu_count,
                ),
                msg("choose a larger machine or fewer GPUs"),
            )
    for index, circle in _circles(project):
        yield (
            ("blocks", index, "depends_on"),
            msg("these blocks wait for each other: {blocks}", blocks=" → ".join(circle)),
            msg("remove one of them from depends_on"),
        )
    start, end = project.campaign.start, project.campaign.end
    if start is not None and end is not None and end < start:
        yield (
            ("campaign", "end"),
            msg("the campaign ends on {end}, before it starts on {start}", start=start, end=end),
            msg("correct one of the two dates"),
        )
    for attempt, assignment in project.attempts.items():
        if assignment.block is not None and assignment.block not in blocks:
            yield (
                ("attempts", attempt),
                msg(
                    "attempt {attempt} is assigned to {block}, which does not exist",
                    attempt=attempt,
                    block=assignment.block,
                ),
                msg("assign it to a block of this plan"),
            )


def _circles(project: Project) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield each circle of ``depends_on`` once: the index of its first block, and the way round.

    A block that names itself is no circle here: it is refused by name.
    """
    places: dict[str, int] = {}
    for index, block in enumerate(project.blocks):
        places.setdefault(block.id, index)
    waits_for = {
        name: [other for other in project.blocks[index].depends_on if other in places]
        for name, index in places.items()
    }
    done: set[str] = set()
    for first in places:
        way = [first]  # the blocks from ``first`` down to the one being looked at
        rest = [iter(() if first in done else waits_for[first])]
        while way:
            other = next(rest[-1], None)
            if other is None:
                done.add(way.pop())
                rest.pop()
            elif other in way:
                circle = way[way.index(other) :]
                if len(circle) > 1:
                    start = min(range(len(circle)), key=lambda at: places[circle[at]])
                    turned = (*circle[start:], *circle[:start])
                    yield places[turned[0]], (*turned, turned[0])
            elif other not in done:
                way.append(other)
                rest.append(iter(waits_for[other]))


def _is_json_lines(data: bytes) -> bool:
    """Return whether the first line is a JSON object of its own."""
    try:
        return isinstance(msgspec.json.decode(data.lstrip().partition(b"\n")[0]), dict)
    except msgspec.DecodeError:
        return False


def _not_a_plan(name: str) -> Problem:
    return Problem(
        f"{name}:1",
        msg("this is not a project document"),
        msg(
            "a project document is YAML and begins with `schema: {schema}` and a title",
            schema=SCHEMA,
        ),
    )


def _clean(kind: Any, raw: Any, path: Path, complain: Any, kept: dict[Path, list[int]]) -> Any:
    """Return ``raw`` with numbers in canonical text and refused values dropped."""
    kind, meta = _unwrapped(kind)
    if raw is None or raw is _DROPPED:
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
            return _DROPPED
        item = get_args(kind)[0]
        items = [
            _clean_item(item, value, (*path, i), complain, kept) for i, value in enumerate(raw)
        ]
        kept[path] = [i for i, value in enumerate(items) if value is not _DROPPED]
        return [value for value in items if value is not _DROPPED]
    if origin is dict:
        return _clean_dict(kind, raw, path, complain, kept)
    if isinstance(raw, (dict, list)):
        complain(
            path,
            msg("{field} must be one value", field=named(path)),
            msg("write the value on the same line"),
        )
        return _DROPPED
    return _clean_value(kind, meta, raw, path, complain)


def _clean_item(kind: Any, raw: Any, path: Path, complain: Any, kept: dict[Path, list[int]]) -> Any:
    if raw is None and not _allows_none(kind):
        complain(
            path, msg("{field} is empty", field=named(path)), msg("fill it or remove the dash")
        )
        return _DROPPED
    return _clean(kind, raw, path, complain, kept)


def _clean_struct(
    kind: type[msgspec.Struct], raw: Any, path: Path, complain: Any, kept: dict[Path, list[int]]
) -> Any:
    if not isinstance(raw, dict):
        complain(
            path,
            msg("{field} must hold keys and values", field=named(path)),
            msg("write `key: value` lines below it"),
        )
        return _DROPPED
    hints = get_type_hints(kind, include_extras=True)
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    clean: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in fields:
            complain(
                (*path, key),
                msg("the key {key} is unknown here", key=shortened(key)),
                msg("known keys: {keys}", keys=tuple(fields)),
            )
            continue
        result = _clean(hints[key], value, (*path, key), complain, kept)
        if result is None and not _allows_none(hints[key]):
            continue  # an empty field is "not said", which is what its default means
        if result is not _DROPPED:
            clean[key] = result
    for name, field in fields.items():
        if field.required and name not in clean:
            if raw.get(name) is None:
                complain(
                    path,
                    msg("{field} needs {key}", field=named(path), key=name),
                    msg("add `{key}: …`", key=name),
                )
            return _DROPPED
    return clean


def _clean_dict(kind: Any, raw: Any, path: Path, complain: Any, kept: dict[Path, list[int]]) -> Any:
    if not isinstance(raw, dict):
        complain(
            path,
            msg("{field} must hold keys and values", field=named(path)),
            msg("write `key: value` lines below it"),
        )
        return _DROPPED
    key_kind, value_kind = get_args(kind)
    clean = {}
    for key, value in raw.items():
        inner = (*path, key)
        if get_origin(key_kind) is Literal and key not in get_args(key_kind):
            complain(
                inner,
                msg("the key {key} is unknown here", key=shortened(key)),
                msg("known keys: {keys}", keys=get_args(key_kind)),
            )
            continue
        result = _clean(value_kind, value, inner, complain, kept)
        if result is not _DROPPED and (result is not None or _allows_none(value_kind)):
            clean[key] = result
    return clean


def _clean_value(kind: Any, meta: list[msgspec.Meta], raw: str, path: Path, complain: Any) -> Any:
    name, shown = named(path), shortened(raw)
    if kind in (int, float, Decimal):
        number = read_number(raw, name)
        if isinstance(number, Problem):
            complain(path, msg("{field}: {what}", field=name, what=number.what), number.do_next)
            return _DROPPED
        if kind is int and number != number.to_integral_value():
            complain(
                path,
                msg("{field} is {text}, but must be a whole number", field=name, text=shown),
                msg("write a whole number"),
            )
            return _DROPPED
        if (bound := _bound_broken(meta, number)) is not None:
            complain(
                path,
                msg("{field} is {text}, but must be {bound}", field=name, text=shown, bound=bound),
                msg("correct it, or leave it empty if unknown"),
            )
            return _DROPPED
        return unambiguous(format(number.to_integral_value() if kind is int else number, "f"))
    if kind is date and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", raw):
        complain(
            path,
            msg("{field} is {text}, which is no date", field=name, text=shown),
            msg("write year-month-day, such as 2027-01-11"),
        )
        return _DROPPED
    if get_origin(kind) is Literal and raw not in get_args(kind):
        complain(
            path,
            msg("{field} is {text}, which is not one of the choices", field=name, text=shown),
            msg("choose one of: {choices}", choices=get_args(kind)),
        )
        return _DROPPED
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
        return _DROPPED
    return raw


def _as_typed(path: Path, kept: dict[Path, list[int]]) -> Path:
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


def _texts(value: Any) -> Any:
    """Return plain values as the texts that a YAML file would hold."""
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_texts(item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (float, Decimal)):
        return unambiguous(str(value))
    return value if value is None or isinstance(value, str) else str(value)


def _plain(value: Any) -> Any:
    """Return builtins that PyYAML can write: tuples as lists, and 1.125 as the text "1.1250"."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return unambiguous(format(value, "f"))
    if isinstance(value, float) and unambiguous(repr(value)) != repr(value):
        return unambiguous(repr(value))
    return value
