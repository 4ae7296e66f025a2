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
