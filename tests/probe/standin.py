"""Stand-ins for the driver's library and for `nvidia-smi`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.probe.desk import Desk

SOURCE = Path(__file__).with_name("standin_nvml.c")


def build_library(folder: Path, *flags: str) -> Path:
    """Compile the library; the flags are those that its source documents."""
    library = folder / f"libnvml-standin{''.join(flags)}.so"
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    subprocess.run([compiler, *flags, "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    return library


def install_tool(desk: Desk, script: str) -> None:
    """Put a shell script first on `PATH` as `nvidia-smi`, on a host without the library."""
    folder = desk.folder / "bin"
    folder.mkdir(exist_ok=True)
    tool = folder / "nvidia-smi"
    tool.write_text("#!/bin/sh\n" + script)
    tool.chmod(0o755)
    desk.env["PATH"] = f"{folder}:{desk.env['PATH']}"
    desk.env["COMPUTE_BUDGET_PROBE_NVML"] = str(desk.folder / "missing.so")


def in_new_python(desk: Desk, code: str) -> str:
    """What a program prints that runs in a process of its own, with the desk's environment."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=desk.folder,
        env=desk.env,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return done.stdout
