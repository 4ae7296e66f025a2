"""What words on the command line mean, and the sentence for those that mean nothing."""

from __future__ import annotations

import argparse
import math
from datetime import datetime, timezone
from typing import Dict, List, NoReturn, Optional

from .secrets import clean, is_secret_name


class Misuse(Exception):
    """What the user should write instead, in one sentence."""


REDACT_HELP = "also replace the ids of cards and jobs, and short user and host names"


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        raise Misuse("{} (see --help)".format(message))


def pairs(words: List[str], option: str) -> Optional[Dict[str, str]]:
    """The texts of a repeated `name=value` option by name; None if it was not given."""
    found: Dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name.strip() or not equals:
            raise Misuse("{} needs the form name=value, not {!r}".format(option, clean(word)))
        if name in found:
            raise Misuse("{} {} is given twice".format(option, clean(name)))
        found[name] = "***" if is_secret_name(name) else clean(value)
    return found or None


def moment(text: Optional[str], option: str) -> Optional[datetime]:
    """A moment with its zone, in UTC; None if the option was not given."""
    if text is None:
        return None
    try:
        stated = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in "Zz" else text)
    except ValueError:
        stated = None
    if stated is None or stated.tzinfo is None:
        raise Misuse(
            "{} needs a date, a time and a zone, such as 2027-01-11T09:00:00+01:00".format(option)
        )
    return stated.astimezone(timezone.utc)


def count(text: str) -> int:
    """A whole number above 0."""
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        raise argparse.ArgumentTypeError("{!r} is not a whole number above 0".format(text))
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError("{!r} is not a number of seconds above 0".format(text))
    return value
