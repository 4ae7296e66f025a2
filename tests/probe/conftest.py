"""Every test of the probe works at a desk of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.probe.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty desk."""
    return Desk(tmp_path)
