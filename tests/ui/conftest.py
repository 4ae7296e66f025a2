"""The dashboard without a browser, on a database of its own."""

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def fresh_caches():
    """Keep one test's open database out of the next one."""
    st.cache_resource.clear()
    st.cache_data.clear()
    yield
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture
def database(tmp_path, monkeypatch):
    """The address of an empty database that the dashboard will open."""
    url = f"sqlite:///{tmp_path / 'ui.sqlite3'}"
    monkeypatch.setenv("COMPUTE_BUDGET_DATABASE_URL", url)
    monkeypatch.chdir(ROOT)
    return url


@pytest.fixture
def app(database):
    """The dashboard, not yet run."""
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
