"""The verbs that answer a question and change nothing on the host."""

from __future__ import annotations

import argparse
from typing import List

from . import verbs
from .options import Misuse


def env(asked: argparse.Namespace) -> int:
    """`env`: what this host is."""
    from . import host, hostreport, secrets

    secrets.hide_short_names(asked.redact_host)
    print(hostreport.report(host.session_start("parent", None, asked.redact_host)))
    return 0


def check(asked: argparse.Namespace, command: List[str]) -> int:
    """`check`: does CUDA really work, for the Python that will run the code?"""
    from . import check as questions

    if len(command) > 1:
        raise Misuse("`check` takes one Python after `--`, such as: check -- .venv/bin/python")
    _, log = verbs.opened(asked)
    return questions.check(log.write, print, command[0] if command else None)


def summary(asked: argparse.Namespace) -> int:
    """`summary`: what logs hold."""
    from .summary import summarise

    print(summarise(asked.logs or [asked.out]))
    return 0


def verify(asked: argparse.Namespace) -> int:
    """`verify`: whether logs are whole and consistent; 1 if one is not."""
    from .verify import verify as examine

    text, whole = examine(asked.logs or [asked.out])
    print(text)
    return 0 if whole else 1


def build(asked: argparse.Namespace) -> int:
    """`build`: write the one file to copy."""
    from .build import build as write

    print("Copy this file to the host: {}".format(write(asked.output)))
    return 0
