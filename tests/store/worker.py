"""Another process that uses a store: says ``ready``, waits for a line, then does its work."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from budget.store import Conflict, open_store

AT = datetime(2027, 1, 11, 9, 0, tzinfo=UTC)


def say(text: str) -> None:
    print(text, flush=True)


def wait() -> None:
    say("ready")
    sys.stdin.readline()


def open_only(url: str) -> None:
    wait()
    with open_store(url) as store:
        say(f"projects {len(store.projects())}")


def save_rounds(url: str, project: str, author: str, rounds: str) -> None:
    with open_store(url) as store:
        for base in range(1, int(rounds) + 1):
            wait()
            try:
                store.save(project, f"{author} {base}", base, author, AT, "")
                say("won")
            except Conflict:
                say("conflict")


def save_forever(url: str, project: str) -> None:
    with open_store(url) as store:
        wait()
        number = 1
        while True:
            body = f"{number} " * 20_000
            document = f"{body}\n{hashlib.sha256(body.encode()).hexdigest()}"
            number = store.save(project, document, number, "loop", AT, "").number
            say(f"saved {number}")


if __name__ == "__main__":
    work: dict[str, Callable[..., None]] = {
        "open": open_only,
        "rounds": save_rounds,
        "forever": save_forever,
    }
    work[sys.argv[1]](*sys.argv[2:])
