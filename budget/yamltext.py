"""YAML as text: every scalar stays the text that was typed, with the line it stands on.

Ordinary loaders turn ``no`` into False, ``550.54`` into 550.54 and ``0123456`` into an octal
number. Here only an unquoted ``null``, ``~`` or nothing becomes None. Anchors, aliases, tags and
duplicate keys are problems: they make a document say something else than it shows.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec
import yaml

from budget.messages import Problem, msg

Path: TypeAlias = tuple[str | int, ...]
MAX_DEPTH = 50
"""Nesting beyond this is no document of ours and would exhaust the stack."""
MAX_CHARACTERS = 4 * 2**20
"""A plan of thousands of blocks is far below this."""

_BREAK = re.compile("\r\n?|\n|[\x85\u2028\u2029]")
"""Line breaks as YAML 1.1 counts them; editors and people count only the first three."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlText(msgspec.Struct, frozen=True):
    """A document of dicts, lists, str and None, and the line on which each part begins."""

    tree: Any
    lines: dict[Path, int]
    problems: tuple[Problem, ...]

    def line(self, path: Path) -> int:
        """Return the line of ``path`` or of its nearest parent that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_yaml(data: bytes, name: str) -> YamlText:
    """Read one YAML document; whatever is wrong becomes a problem at ``name:line``."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return _refused(
            f"{name}:{line}",
            "the file is not UTF-8 text",
            "save it as UTF-8; PowerShell's `>` writes UTF-16",
        )
    if not text.strip():
        return _refused(f"{name}:1", "the file is empty", "choose the file that was saved")
    if len(text) > MAX_CHARACTERS:
        return _refused(f"{name}:1", "the file is too large for a plan", "check that it is a plan")
    if (character := _UNPRINTABLE.search(text)) is not None:
        line = len(re.findall("\r\n?|\n", text[: character.start()])) + 1
        return _refused(
            f"{name}:{line}",
            "the file holds a character that no text has",
            "remove it, or check that this is the file you mean",
        )
    reader = _Reader(name, _shown_lines(text))
    try:
        events = list(yaml.parse(text, Loader=_Loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = reader.line(mark)
        said = getattr(error, "problem", None) or "unreadable"
        return YamlText(
            None,
            {},
            (
                Problem(
                    f"{name}:{line}",
                    msg("this is not valid YAML: {said}", said=str(said)),
                    msg("look at this line and the one before: indentation, colon, quotes"),
                ),
            ),
        )
    tree = reader.document(events)
    return YamlText(tree, reader.lines, tuple(reader.problems))


def _refused(where: str, what: str, do_next: str) -> YamlText:
    return YamlText(None, {}, (Problem(where, msg(what), msg(do_next)),))


class _Reader:
    """Builds the tree from parser events; one instance reads one file."""

    def __init__(self, name: str, shown: list[int] | None) -> None:
        self.name = name
        self._shown = shown
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []

    def line(self, mark: Any) -> int:
        """Return the line of a mark as an editor shows it, counted from 1."""
        if mark is None:
            return 1
        line: int = mark.line
        if self._shown is None:
            return line + 1
        return self._shown[min(line, len(self._shown) - 1)]  # the end is one line further

    def document(self, events: list[yaml.Event]) -> Any:
        stream = iter(events)
        documents = 0
        tree = None
        for event in stream:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                value = self._node(next(stream), stream, ())
                if documents == 1:
                    tree = value
                else:
                    self._problem(
                        event,
                        "a second document begins here",
                        "remove the line `---`: one file holds one plan",
                    )
        return tree

    def _node(self, event: yaml.Event, stream: Any, path: Path) -> Any:
        self.lines.setdefault(path, self.line(event.start_mark))
        if isinstance(event, yaml.AliasEvent):
            self._problem(event, "an alias (*) is not allowed", "write the value itself")
            return None
        self._decorated(event)
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style is None or event.style == ""
            return None if plain and event.value in ("", "null", "~") else event.value
        if len(path) > MAX_DEPTH:
            self._problem(event, "the nesting is too deep", "check that this is a plan")
            self._skip(stream)
            return None
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(inner := next(stream), yaml.SequenceEndEvent):
                items.append(self._node(inner, stream, (*path, len(items))))
            return items
        return self._mapping(stream, path)

    def _decorated(self, event: yaml.Event) -> None:
        if getattr(event, "anchor", None) is not None:
            self._problem(event, "an anchor (&) is not allowed", "write the value where it is used")
        if getattr(event, "tag", None) not in (None, "!"):
            self._problem(event, "a tag (!) is not allowed", "write the plain value")

    def _mapping(self, stream: Any, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not isinstance(inner := next(stream), yaml.MappingEndEvent):
            if not isinstance(inner, yaml.ScalarEvent):
                self._problem(inner, "a key must be plain text", "write `key: value`")
                self._node(inner, stream, (*path, "?"))
                self._node(next(stream), stream, (*path, "?"))
                continue
            key = inner.value
            self._decorated(inner)
            if key in result:
                first = self.lines[(*path, key)]
                self.problems.append(
                    Problem(
                        f"{self.name}:{self.line(inner.start_mark)}",
                        msg(
                            "the key {key} stands here again (first in line {first})",
                            key=key,
                            first=first,
                        ),
                        msg("keep one of the two"),
                    )
                )
                self._node(next(stream), stream, (*path, key, "again"))
                continue
            self.lines[(*path, key)] = self.line(inner.start_mark)
            result[key] = self._node(next(stream), stream, (*path, key))
        return result

    def _skip(self, stream: Any) -> None:
        depth = 1
        while depth:
            event = next(stream)
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1

    def _problem(self, event: yaml.Event, what: str, do_next: str) -> None:
        where = f"{self.name}:{self.line(event.start_mark)}"
        self.problems.append(Problem(where, msg(what), msg(do_next)))


def _shown_lines(text: str) -> list[int] | None:
    """Return for each line as YAML counts the line as editors count; None where both agree."""
    breaks = _BREAK.findall(text)
    if not {"\x85", "\u2028", "\u2029"} & set(breaks):
        return None
    shown = [1]
    for found in breaks:
        shown.append(shown[-1] + (found[0] in "\r\n"))
    return shown
