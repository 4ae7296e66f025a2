"""Peak memory of an attempt beside its device's memory, and the mean of a unit with its range."""

from pathlib import Path

import pytest

from budget import documents, readings, workflow
from budget.attempts import Attempt, Gpu, Host, Memory
from budget.figures import Source
from budget.joining import combine

SAMPLE = Path(__file__).parent.parent / "sample_logs"
GIB = 2**30
LINE = Source("log", "a.jsonl", 3)


def attempt(*memory, gpus=(), ram_bytes=64 * GIB):
    return Attempt(
        id="a", session="s", block=None, role="trial", outcome="ok", started_at=None,
        duration_s=None, host=Host(ram_bytes=ram_bytes, gpus=gpus), memory=memory, source=LINE,
    )  # fmt: skip


H100 = Gpu(name="H100", memory_bytes=80 * GIB)
DEVICE = Memory(
    device="0", layer="parent", device_peak_bytes=31 * GIB, baseline_bytes=GIB, source=LINE
)
HOST = Memory(device="host", layer="parent", resident_peak_bytes=5 * GIB, source=LINE)


def test_with_a_gpu_the_peak_is_the_devices_less_what_was_in_use_before():
    found = readings.peak(attempt(HOST, DEVICE, gpus=(H100,)))
    assert (found.figure.value, found.limit_bytes, found.layer) == (30 * GIB, 80 * GIB, "parent")
    assert found.figure.sources == (LINE,)


def test_without_a_device_layer_the_peak_of_a_gpu_is_missing_and_not_the_hosts():
    found = readings.peak(attempt(HOST, gpus=(H100,)))
    assert not found.figure.known
    assert found.figure.why.text == "no device layer measured memory"
    assert found.layer is None


def test_without_a_gpu_the_peak_is_resident_memory_against_the_ram():
    found = readings.peak(attempt(HOST))
    assert (found.figure.value, found.limit_bytes) == (5 * GIB, 64 * GIB)


@pytest.mark.parametrize(("planned", "ranged"), [(200, True), (None, False)])
def test_a_unit_has_the_range_of_the_estimate_only_where_runs_are_planned(planned, ranged):
    text = (SAMPLE / "project.yaml").read_text()
    if planned is None:
        text = text.replace("    planned_runs: 200\n", "", 1)
    project = documents.read(text.encode(), "project.yaml").project
    logs = workflow.read_logs([(path.name, path.read_bytes()) for path in SAMPLE.glob("*.jsonl")])
    result = workflow.assess(project, logs, project.as_of)
    block, item = project.blocks[0], result.estimates[0]
    found = readings.run_per_unit(block, combine(logs), item)
    measured = [value for group in item.run_s for value in group]
    assert found.value == pytest.approx(sum(measured) / len(measured))
    assert (found.n, found.k, found.ranged) == (8, 2, ranged)
    if ranged:
        assert found.low * 200 / 3600 == pytest.approx(item.remaining["run"].low)
