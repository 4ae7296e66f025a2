"""Writes into README.md what its ``console`` commands print now, and the libraries watched.

Run ``python tests/readme_output.py`` after the sample or a text of the command line has changed.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from budget.probe.inside import (
    diffusers_watcher,
    torch_watcher,
    transformers_watcher,
    vllm_watcher,
)

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
CONSOLE = re.compile(r"```console\n\$ (.+)\n([\s\S]*?)```")

LIBRARIES = re.compile(r"<!-- libraries -->\n[\s\S]*?<!-- /libraries -->")
WATCHERS = (torch_watcher, transformers_watcher, diffusers_watcher, vllm_watcher)


def libraries() -> str:
    """Return the table of the libraries that the probe watches, from the watchers themselves."""
    rows = [
        f"| {watcher.LIBRARY} | {_listed(watcher.TESTED)} | {_listed(watcher.UNTESTED)} |"
        for watcher in WATCHERS
    ]
    head = ["| library | run against the real library | **untested** |", "|---|---|---|"]
    return "\n".join(["<!-- libraries -->", *head, *rows, "<!-- /libraries -->"])


def _listed(texts: tuple[str, ...]) -> str:
    return "; ".join(texts) or "nothing"


def printed(command: str) -> str:
    """Return what a command of README prints, its file patterns filled in as a shell would."""
    program, *words = shlex.split(command)
    assert program == "compute-budget"
    given: list[str] = []
    for word in words:
        found = sorted(ROOT.glob(word)) if "*" in word else []
        given += [str(path.relative_to(ROOT)) for path in found] or [word]
    done = subprocess.run(
        [sys.executable, "-m", "budget", *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


if __name__ == "__main__":
    text = LIBRARIES.sub(lambda m: libraries(), README.read_text(encoding="utf-8"))
    README.write_text(
        CONSOLE.sub(lambda m: f"```console\n$ {m[1]}\n{printed(m[1]).strip()}\n```", text),
        encoding="utf-8",
    )
