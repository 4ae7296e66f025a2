"""The CUDA compiler with which extensions would be built here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from typing import Optional

TIMEOUT_S = 5.0
VERSION = re.compile(r"\d+(?:\.\d+)+")
# The whole version follows the release; very old compilers state the release alone.
SAID = (re.compile(r"\bV(\d+(?:\.\d+)+)"), re.compile(r"\brelease (\d+(?:\.\d+)+)"))


def version() -> Optional[str]:
    """Version of the `nvcc` on `PATH`, such as `12.4.131`; None without one."""
    program = shutil.which("nvcc")
    if program is None:
        return None
    return _version_beside(program) or _version_said(program)


def _version_beside(program: str) -> Optional[str]:
    """What the toolkit's own list of versions states: no process has to be started for it."""
    toolkit = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    try:
        with open(os.path.join(toolkit, "version.json"), encoding="utf-8") as file:
            stated = json.load(file)["cuda_nvcc"]["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return stated if isinstance(stated, str) and VERSION.fullmatch(stated) else None


def _version_said(program: str) -> Optional[str]:
    try:
        said = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = (pattern.search(said) for pattern in SAID)
    return next((match.group(1) for match in found if match), None)
