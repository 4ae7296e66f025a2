"""Reading and writing the project document."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import msgspec
import yaml

from budget.checks import check
from budget.cleaning import DROPPED, as_typed, clean, named
from budget.messages import Message, Problem, msg
from budget.numerals import shortened, unambiguous
from budget.project import SCHEMA, Project
from budget.yamltext import Path, YamlText, read_yaml


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
    cleaned = clean(Project, tree, (), complain, kept)
    if cleaned is DROPPED:
        return None
    project = msgspec.convert(cleaned, Project, strict=False)
    for path, what, do_next in check(project):
        complain(as_typed(path, kept), what, do_next)
    return project


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
