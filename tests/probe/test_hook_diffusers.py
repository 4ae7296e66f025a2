"""Unmodified programs that use diffusers, with small pipelines of random weights."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.probe.desk import Desk

BEGINS = """
import json, time
import torch
from diffusers import DDIMScheduler, DDPMPipeline, DDPMScheduler, DiffusionPipeline, UNet2DModel
torch.set_num_threads(1)
torch.manual_seed(0)
unet = UNet2DModel(
    sample_size=8, in_channels=3, out_channels=3, layers_per_block=1, norm_num_groups=4,
    block_out_channels=(8, 16), down_block_types=("DownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "UpBlock2D"),
)
DDPMPipeline(unet, DDPMScheduler(num_train_timesteps=20)).save_pretrained("pipeline")
began = time.monotonic()
pipeline = DiffusionPipeline.from_pretrained("pipeline")
load_s = time.monotonic() - began
pipeline.set_progress_bar_config(disable=True)
"""


def said(desk: Desk, code: str) -> Any:
    """What a program prints, as the last line, in JSON."""
    desk.env["HF_HUB_OFFLINE"] = "1"
    done = desk.python(BEGINS + code)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout.splitlines()[-1])


def test_load_run_and_calls_of_a_pipeline(desk: Desk) -> None:
    found = said(
        desk,
        """
import inspect
began = time.monotonic()
calls = []
for size, steps in ((2, 10), (3, 20)):
    at = time.monotonic()
    images = pipeline(batch_size=size, num_inference_steps=steps, output_type="np").images
    calls.append(time.monotonic() - at)
run_s = time.monotonic() - began
print(json.dumps({"load_s": load_s, "run_s": run_s, "calls": calls, "made": len(images),
                  "arguments": list(inspect.signature(DDPMPipeline.__call__).parameters)}))
""",
    )
    prepare, load, run = desk.records("phase.end")
    assert [end["phase"] for end in (prepare, load, run)] == ["prepare", "load", "run"]
    assert load["duration_s"] == pytest.approx(found["load_s"], rel=0.02, abs=0.003)
    assert run["duration_s"] == pytest.approx(found["run_s"], rel=0.02, abs=0.003)
    assert run["forward_calls"] == 0
    calls = desk.records("call")
    assert [call["batch_size"] for call in calls] == [2, 3]
    assert [call["duration_s"] for call in calls] == pytest.approx(found["calls"], rel=0.02)
    assert {call["read_by"] for call in calls} == {"hook:diffusers"}
    assert all(call["input_tokens"] is call["output_tokens"] is None for call in calls)
    changes = {change["what"]: (change["from"], change["to"]) for change in desk.records("change")}
    assert changes == {"num_inference_steps": ("10", "20")}
    assert found["made"] == 3
    assert found["arguments"][:3] == ["self", "batch_size", "generator"]
    assert "diffusers" in desk.only("environment")["libraries"]


def test_a_loop_of_the_programs_own_and_a_failing_call(desk: Desk) -> None:
    said(
        desk,
        """
try:
    pipeline(batch_size="two", num_inference_steps=2)
except Exception as problem:
    print(type(problem).__name__)
model = UNet2DModel.from_pretrained("pipeline", subfolder="unet")
with torch.no_grad():
    for step in range(5):
        model(torch.zeros(1, 3, 8, 8), step)
print("0")
""",
    )
    names = [end["phase"] for end in desk.records("phase.end")]
    assert names == ["prepare", "load", "load", "run"]
    assert desk.records("phase.end")[-1]["forward_calls"] == 5
    error = desk.only("error")
    assert (error["layer"], error["phase"]) == ("hook", "run")
    assert desk.records("call") == []
