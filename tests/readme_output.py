"""Writes into README.md what its ``console`` commands print now.

Run ``python tests/readme_output.py`` after the sample or a text of the command line has changed.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
CONSOLE = re.compile(r"```console\n\$ (.+)\n([\s\S]*?)```")


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
    text = README.read_text(encoding="utf-8")
    README.write_text(
        CONSOLE.sub(lambda m: f"```console\n$ {m[1]}\n{printed(m[1]).strip()}\n```", text),
        encoding="utf-8",
    )
