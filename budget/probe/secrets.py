"""Takes secrets, absolute paths, user and host names out of what is logged."""

from __future__ import annotations

import os
import re
from typing import Dict, List, Match, Sequence, Tuple

HIDDEN = "***"

# A name holds a secret if one of these words is in it …
SECRET_WORDS = (
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "credential",
    "credentials",
    "authorization",
    "auth",
    "apikey",
    "bearer",
    "pat",
    "signature",
    "sig",
)
# … or two of these in a row …
SECRET_PAIRS = (
    "api key",
    "access key",
    "secret key",
    "private key",
    "account key",
    "auth key",
    "session key",
    "encryption key",
)
# … or if it ends in `token`, unless the word before says that the token is one of the vocabulary.
VOCABULARY_WORDS = (
    "eos",
    "bos",
    "pad",
    "unk",
    "mask",
    "cls",
    "sep",
    "image",
    "video",
    "audio",
    "start",
    "stop",
    "end",
    "per",
    "next",
    "new",
)

# Tokens that services issue, known by how they begin.
KEY_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{6,}|sk-[\w-]{6,}|gh[opsur]_[A-Za-z0-9]{8,}"
    r"|github_pat_\w{8,}|glpat-[\w-]{8,}|xox[abposr]-[\w-]{8,}|A[KS]IA[A-Z0-9]{12,}"
    r"|AIza[\w-]{20,}|nvapi-[\w-]{8,}|pypi-[\w-]{16,}|r8_\w{16,}"
    r"|eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?)"
)
SCHEMES = re.compile(
    r"\b(Bearer|Authorization[\"']?\s*[:=]\s*[\"']?\w+)(\s+)[^\s'\",;]+", re.IGNORECASE
)
WHOLE_ASSIGNMENT = re.compile(r"([-+]*[A-Za-z_][\w.-]*)=", re.DOTALL)
# The patterns below begin where a word begins, so that a long word costs no more than its length.
USER_INFO = re.compile(r"((?<![\w+.-])[A-Za-z][\w+.-]*://)[^\s/@'\"]*(?:@[^\s/@'\"]*)*@")
_VALUE = r"(?:\"[^\"]*\"|'[^']*'|[^\s&;,'\"]+)"
ASSIGNMENT = re.compile(
    r"(?<![\w.-])([-+]*[A-Za-z_][\w.-]*)([\"']?\s*(?:=|:(?!//))\s*)(" + _VALUE + ")"
)
FLAG = re.compile(r"(?<![\w-])(--?[A-Za-z][\w.-]*)(\s+)(" + _VALUE + ")")
PATH = re.compile(
    r"(?P<url>(?<![\w+.-])[A-Za-z][\w+.-]*://[^\s'\"]+)"
    r"|(?P<path>(?<![\w.~…/\\<])/[^\s'\":;,()\[\]{}<>|&=/]+(?:/[^\s'\":;,()\[\]{}<>|&=]*)?)"
)
# Common account and host names say nothing about a person, and they are ordinary words.
COMMON_NAMES = ("root", "user", "users", "test", "admin", "ubuntu", "debian", "jovyan", "localhost")
SHORTEST_NAME = 4
SHORTEST_REDACTED_NAME = 2
SHORTEST_VALUE = 8

_shortest_name = SHORTEST_NAME


def hide_short_names(asked: bool) -> None:
    """Replace user and host names of two and three letters too, as `--redact-host` asks.

    They may be words: without being asked, a text keeps them.
    """
    global _shortest_name
    _shortest_name = SHORTEST_REDACTED_NAME if asked else SHORTEST_NAME


def is_secret_name(name: str) -> bool:
    """Whether a flag or variable of this name holds a secret (`--max-tokens` does not)."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    words = [word for word in re.split(r"[^a-z]+", spaced.lower()) if word]
    if any(word in SECRET_WORDS for word in words):
        return True
    if any(" {} ".format(pair) in " {} ".format(" ".join(words)) for pair in SECRET_PAIRS):
        return True
    if not words or not words[-1].endswith("token"):
        return False
    return len(words) < 2 or words[-2] not in VOCABULARY_WORDS


def clean(text: str) -> str:
    """A text without secrets, absolute paths, this user's and this host's name."""
    for value in _secret_values():
        text = text.replace(value, HIDDEN)
    text = USER_INFO.sub(r"\g<1>" + HIDDEN + "@", text)
    text = SCHEMES.sub(r"\g<1>\g<2>" + HIDDEN, text)
    text = ASSIGNMENT.sub(_hide_value, text)
    text = FLAG.sub(_hide_value, text)
    text = KEY_SHAPES.sub(HIDDEN, text)
    text = PATH.sub(_shorten_match, text)
    for pattern, stand_in in _names():
        text = re.sub(r"(?<![\w])" + re.escape(pattern) + r"(?![\w])", stand_in, text)
    return text


def clean_argv(argv: Sequence[str]) -> List[str]:
    """A command line without secrets; its program and its paths without where they lie."""
    cleaned = []
    hide_next = False
    for place, word in enumerate(argv):
        assigned = WHOLE_ASSIGNMENT.match(word)
        if hide_next and not word.startswith("-"):
            cleaned.append(HIDDEN)
        elif assigned and is_secret_name(assigned.group(1)):
            cleaned.append(assigned.group() + HIDDEN)
        elif os.path.isabs(word) and (place == 0 or os.path.exists(word)):
            cleaned.append(os.path.basename(word) if place == 0 else clean(_shorten(word)))
        else:
            cleaned.append(clean(word))
        hide_next = word.startswith("-") and "=" not in word and is_secret_name(word)
    return cleaned


def _secret_values() -> List[str]:
    values = [
        value
        for name, value in os.environ.items()
        if len(value) >= SHORTEST_VALUE and is_secret_name(name) and not os.path.isabs(value)
    ]
    return sorted(values, key=len, reverse=True)


def _hide_value(match: Match[str]) -> str:
    name, between, value = match.groups()
    # a switch such as `--use-auth-token` is followed by the next flag, not by its value
    if is_secret_name(name) and value.lower() not in ("bearer", "basic") and value[0] != "-":
        return name + between + HIDDEN
    return match.group()


def _shorten_match(match: Match[str]) -> str:
    path = match.group("path")
    if path is not None:
        return _shorten(path)
    url = match.group("url")
    return "file:" + _shorten(url[len("file://") :]) if url.startswith("file:///") else url


def _shorten(path: str) -> str:
    home = os.path.expanduser("~").rstrip("/")
    if home and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return "…/" + os.path.basename(path.rstrip("/"))


def _names() -> List[Tuple[str, str]]:
    host = os.uname().nodename
    candidates: Dict[str, str] = {host: "<host>", host.split(".")[0]: "<host>"}
    for variable in ("USER", "LOGNAME"):
        candidates.setdefault(os.environ.get(variable, ""), "<user>")
    candidates.setdefault(os.path.basename(os.path.expanduser("~")), "<user>")
    return [
        (name, stand_in)
        for name, stand_in in candidates.items()
        if len(name) >= _shortest_name and name.lower() not in COMMON_NAMES
    ]
