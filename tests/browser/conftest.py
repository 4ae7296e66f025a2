"""A real server with a database of its own, and a real Chromium."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = "/usr/bin/chromium"


def pytest_collection_modifyitems(items):
    missing = pytest.mark.skip(reason=f"{CHROMIUM} is not installed")
    for item in items:
        if item.get_closest_marker("browser") and not Path(CHROMIUM).exists():
            item.add_marker(missing)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`streamlit run app.py` on a free port; `stop` and `start` keep the database."""

    def __init__(self, folder):
        self.database = f"sqlite:///{folder / 'browser.sqlite3'}"
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        """Start and wait for the health answer."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true",
             f"--server.port={self.port}"],
            cwd=ROOT, env=os.environ | {"COMPUTE_BUDGET_DATABASE_URL": self.database},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=1)
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the server did not start")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("browser"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking",
                  "--disable-component-update", "--no-first-run"],
        )  # fmt: skip
        yield browser
        browser.close()
