"""One person's way through the dashboard, in a real browser against a real server."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from budget.store import open_store
from budget.ui.page import PAGES
from budget.wording import Wording

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.browser
LOGS = sorted((ROOT / "sample_logs").glob("*.jsonl"))
PATIENCE_MS = 30_000


def opened(browser, address, width=1280, height=800):
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(address)
    page.wait_for_selector("h1")
    return page


def settled(page):
    """Wait until the script has run and the page is still."""
    page.wait_for_selector("h1")
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0, timeout=PATIENCE_MS)
    page.wait_for_timeout(300)


def test_the_dashboard_opens_on_the_decision_of_the_sample(server, chromium):
    page = opened(chromium, server.address)
    expect(page.get_by_text("Sample data.")).to_be_visible()
    expect(page.locator("h2").first).to_be_visible()
    first = page.get_by_test_id("stMain").get_by_role("button").first
    assert "Start your own project" in first.inner_text()
    page.context.close()


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_the_window(server, chromium, name, width):
    path = "" if name == "decision" else name
    page = opened(chromium, f"{server.address}/{path}?project=sample", width=width)
    settled(page)
    wide = page.evaluate(
        "() => { const main = document.querySelector('[data-testid=stMain]');"
        " return [document.documentElement.scrollWidth, main.scrollWidth, window.innerWidth] }"
    )
    assert max(wide[:2]) <= wide[2]
    assert page.locator("[data-testid=stException]").count() == 0
    page.context.close()


def ask_the_terminal(tmp_path, server, project):
    """What `decide --json` says of the project that the dashboard has saved, and of its logs."""
    with open_store(server.database) as store:
        document = tmp_path / "saved.yaml"
        document.write_text(store.newest(project).document, encoding="utf-8")
        paths = []
        for log in store.logs(project):
            path = tmp_path / log.name
            path.write_bytes(store.read_log(log.hash))
            paths.append(str(path))
    done = subprocess.run(
        [sys.executable, "-m", "budget", "decide", str(document), *paths, "--json"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def edit_cell(page, row, column, text):
    """Type into a cell of the first table: click the first cell, walk there, type, confirm."""
    grid = page.get_by_test_id("stDataFrame").first
    box = grid.bounding_box()
    page.mouse.click(box["x"] + 90, box["y"] + 35 * 1.5)
    for key in ["ArrowDown"] * row + ["ArrowRight"] * column:
        page.keyboard.press(key, delay=50)
    page.keyboard.press("Enter")  # opens the cell
    page.wait_for_timeout(300)
    page.keyboard.press("Control+A")
    page.keyboard.type(text, delay=50)
    page.keyboard.press("Enter")
    page.wait_for_timeout(800)


def test_from_a_dropped_log_to_a_decision_that_the_terminal_confirms(server, chromium, tmp_path):
    page = opened(chromium, server.address)
    settled(page)
    page.get_by_role("button", name="Start your own project").click()
    page.get_by_text("Nothing to decide yet").wait_for()
    project = re.search(r"project=([a-z0-9]+)", page.url).group(1)

    # a log dropped on Decision says what it became
    page.locator("input[type=file]").first.set_input_files([str(path) for path in LOGS])
    page.get_by_text("17 attempts read").first.wait_for()

    # its conditions become environment and blocks
    page.goto(f"{server.address}/measurements?project={project}")
    settled(page)
    page.get_by_role("button", name="Add to the plan").first.click()
    page.get_by_text(re.compile("Saved")).first.wait_for()

    # a block is edited in the table: 40 runs in 2 sessions
    page.goto(f"{server.address}/blocks?project={project}")
    settled(page)
    edit_cell(page, 0, 5, "40")
    page.get_by_role("button", name="Save plan").click()
    page.get_by_text(re.compile("Saved")).first.wait_for()
    settled(page)

    # the screen and the terminal say the same
    told = ask_the_terminal(tmp_path, server, project)
    block = next(item for item in told["blocks"] if item["block"] == "reference")
    assert block["units"]["value"] == 40
    page.goto(f"{server.address}/?project={project}")
    settled(page)
    screen = page.get_by_test_id("stMain").inner_text()
    assert told["headline_text"] in screen
    assert told["go"] == ["reference"]
    page.goto(f"{server.address}/blocks?project={project}")
    settled(page)
    run = block["components"]["run"]["remaining"]
    screen = page.get_by_test_id("stMain").inner_text()
    words = Wording()
    assert words.quantity(run["value"], "h") in screen
    assert words.quantity(run["low"], "h") in screen
    assert words.quantity(run["high"], "h") in screen
    assert f"n = {run['n']}, k = {run['k']}" in screen

    # a reload, a restart and a second browser show the same saved state
    page.reload()
    settled(page)
    assert words.quantity(run["value"], "h") in page.get_by_test_id("stMain").inner_text()
    server.stop()
    server.start()
    other = opened(chromium, f"{server.address}/blocks?project={project}")
    settled(other)
    assert words.quantity(run["value"], "h") in other.get_by_test_id("stMain").inner_text()
    assert page.get_by_test_id("stException").count() == 0
    other.context.close()
    page.context.close()
