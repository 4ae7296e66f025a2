"""How long people wait for a first answer, as ratios within one run.

    python tests/benchmarks/startup.py

Prints, over several pairs: `compute-budget --help` against a bare interpreter, `decide` on the
sample against the same, and how long after the server's first health answer the sample's headline
stands in a browser. Wants a quiet machine; it is no test.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SCRIPT = Path(sys.executable).with_name("compute-budget")
PAIRS = 9


def seconds(command: list[str]) -> float:
    """Return the wall time of one process."""
    began = time.perf_counter()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def against_bare(name: str, command: list[str]) -> None:
    """Print a command's time and its ratio to a bare interpreter's, in alternating pairs."""
    seconds(command)
    bare, own = [], []
    for _ in range(PAIRS):
        bare.append(seconds([sys.executable, "-c", "pass"]))
        own.append(seconds(command))
    ratios = [b / a for a, b in zip(bare, own, strict=True)]
    print(f"{name}: median {statistics.median(own) * 1000:.0f} ms "
          f"({min(own) * 1000:.0f} to {max(own) * 1000:.0f}), bare interpreter "
          f"{statistics.median(bare) * 1000:.0f} ms, ratio median "
          f"{statistics.median(ratios):.1f}")  # fmt: skip


def first_screen() -> None:
    """Print how long the sample's headline takes after the first health answer."""
    from playwright.sync_api import sync_playwright

    waits = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        for _ in range(3):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            with tempfile.TemporaryDirectory() as folder:
                server = subprocess.Popen(
                    [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true",
                     f"--server.port={port}"],
                    cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    env=os.environ | {"COMPUTE_BUDGET_DATABASE_URL": f"sqlite:///{folder}/b.db"},
                )  # fmt: skip
                while True:
                    try:
                        urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health")
                        break
                    except OSError:
                        time.sleep(0.05)
                began = time.perf_counter()
                page = browser.new_context().new_page()
                page.goto(f"http://127.0.0.1:{port}/")
                page.wait_for_selector("h2")
                waits.append(time.perf_counter() - began)
                server.terminate()
                server.wait()
        browser.close()
    print("headline of the sample after the server answers: "
          + ", ".join(f"{wait:.1f} s" for wait in waits))  # fmt: skip


if __name__ == "__main__":
    logs = sorted(str(path) for path in (ROOT / "sample_logs").glob("*.jsonl"))
    against_bare("compute-budget --help", [str(SCRIPT), "--help"])
    against_bare("decide on the sample",
                 [str(SCRIPT), "decide", "sample_logs/project.yaml", *logs, "--json"])  # fmt: skip
    first_screen()
