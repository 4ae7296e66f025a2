"""Texts of the domain, kept untranslated and unformatted until somebody shows them."""

from __future__ import annotations

from typing import Any

import msgspec


class Quantity(msgspec.Struct, frozen=True):
    """A number inside a text together with its unit (``h``, ``bytes``, ``share``, a currency)."""

    value: Any
    unit: str


class Message(msgspec.Struct, frozen=True):
    """An English source text with named places, and the values that go there.

    ``text`` is the key of the translation catalogue and uses ``{name}`` places. A value may be a
    string, a number, a date, a ``Quantity``, another ``Message`` or a tuple of these (a list).
    """

    text: str
    values: dict[str, Any] = {}

    def __hash__(self) -> int:
        return hash((self.text, repr(self.values)))


def msg(text: str, /, **values: Any) -> Message:
    """Return ``Message(text, values)``; the name marks the text for the translation catalogue."""
    return Message(text, values)


class Problem(msgspec.Struct, frozen=True):
    """Something a person gave that cannot be used: where it is, what is wrong, what to do next."""

    where: str
    what: Message
    do_next: Message
