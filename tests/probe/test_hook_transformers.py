"""Unmodified programs that use transformers, with small models of random weights."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.probe.desk import Desk

MODELS = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM, T5Config, T5ForConditionalGeneration
torch.manual_seed(0)
llama = LlamaConfig(
    vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=4,
    num_attention_heads=4, max_position_embeddings=512,
    bos_token_id=1, eos_token_id=2, pad_token_id=0,
)
LlamaForCausalLM(llama).save_pretrained("llama")
t5 = T5Config(
    vocab_size=512, d_model=64, d_ff=128, num_layers=2, num_heads=4, d_kv=16,
    decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
)
T5ForConditionalGeneration(t5).save_pretrained("t5")
"""

BEGINS = """
import json, time
import torch
from transformers import AutoModelForCausalLM
torch.set_num_threads(1)
began = time.monotonic()
model = AutoModelForCausalLM.from_pretrained("llama")
load_s = time.monotonic() - began
ids = torch.arange(10, 10 + 2 * 16).reshape(2, 16)
end = model.generation_config.eos_token_id
model.generation_config.eos_token_id = None
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both models."""
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, "-c", MODELS], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def table(desk: Desk, models: Path) -> Desk:
    """A desk at which the models lie."""
    for name in ("llama", "t5"):
        (desk.folder / name).symlink_to(models / name)
    desk.env["HF_HUB_OFFLINE"] = "1"
    desk.env["TRANSFORMERS_VERBOSITY"] = "error"
    return desk


def said(desk: Desk, code: str) -> Any:
    """What a program prints, as the last line, in JSON."""
    done = desk.python(BEGINS + code)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout.splitlines()[-1])


def sizes(call: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Input, output and batch."""
    return call["input_tokens"], call["output_tokens"], call["batch_size"]


def test_load_run_and_tokens_are_those_that_the_program_itself_measures(table: Desk) -> None:
    found = said(
        table,
        """
began = time.monotonic()
made = [model.generate(ids, max_new_tokens=n, do_sample=False).shape[1] - 16 for n in (40, 60)]
print(json.dumps({"load_s": load_s, "run_s": time.monotonic() - began, "made": made}))
""",
    )
    prepare, load, run = table.records("phase.end")
    assert [end["phase"] for end in (prepare, load, run)] == ["prepare", "load", "run"]
    assert load["duration_s"] == pytest.approx(found["load_s"], rel=0.02)
    assert run["duration_s"] == pytest.approx(found["run_s"], rel=0.02)
    assert run["forward_calls"] == 0
    calls = table.records("call")
    assert found["made"] == [40, 60]
    assert [sizes(call) for call in calls] == [(16, 40, 2), (16, 60, 2)]
    assert sum(call["duration_s"] for call in calls) == pytest.approx(run["duration_s"], rel=0.02)
    assert {call["read_by"] for call in calls} == {"hook:transformers"}
    assert table.only("environment")["libraries"].keys() >= {"torch", "transformers"}
    change = table.only("change")
    assert (change["what"], change["from"], change["to"]) == ("max_new_tokens", "40", "60")
    assert table.records("error") == []


def test_padding_ends_beams_and_what_a_call_returns(table: Desk) -> None:
    first, second = said(
        table,
        """
# A: left padding; 4 of the 16 places of the second sequence are shown: (16 + 4) / 2 = 10
mask = torch.ones_like(ids)
mask[1, :12] = 0
model.generate(ids, attention_mask=mask, max_new_tokens=5, do_sample=False)
# B: without a mask, transformers takes the padding out by itself: (16 + 10) / 2 = 13
padded = ids.clone()
padded[1, :6] = 0
model.generate(padded, max_new_tokens=5, do_sample=False)
# C: the fourth new token of the first sequence ends it, and the second goes on to the eighth
free = model.generate(ids, max_new_tokens=8, do_sample=False)[:, 16:].tolist()
ending = free[0][3]
first = free[0].index(ending) + 1
second = free[1].index(ending) + 1 if ending in free[1] else 8
model.generate(ids, max_new_tokens=8, do_sample=False, eos_token_id=ending, pad_token_id=0)
# D: beams return one sequence each; E: two sequences each; F: more than the sequences
model.generate(ids, max_new_tokens=4, num_beams=3, do_sample=False)
model.generate(ids[:1], max_new_tokens=4, do_sample=True, num_return_sequences=2)
model.generate(inputs=ids, max_new_tokens=3, do_sample=False, return_dict_in_generate=True)
# G: embeddings go in, only new tokens come out
model.generate(inputs_embeds=model.get_input_embeddings()(ids), max_new_tokens=6, do_sample=False)
# H: one token, and none at all to begin with
model.generate(ids[:1, :1], max_new_tokens=1, do_sample=False)
model.generate(max_new_tokens=2, do_sample=False)
print(json.dumps([first, second]))
""",
    )
    calls = table.records("call")
    measured = [sizes(call) for call in calls]
    assert measured[0] == (10, 5, 2)
    assert measured[1] == (13, 5, 2)
    assert measured[2] == (16, 8, 2)
    assert first <= 4
    assert measured[3] == (16, (first + second + 1) // 2, 2)
    assert measured[4:] == [
        (16, 4, 2),
        (16, 4, 1),
        (16, 3, 2),
        (16, 6, 2),
        (1, 1, 1),
        (None, 2, None),
    ]


def test_an_encoder_decoder_model(table: Desk) -> None:
    done = table.python("""
import torch
from transformers import AutoModelForSeq2SeqLM
model = AutoModelForSeq2SeqLM.from_pretrained("t5")
model.generation_config.eos_token_id = None
ids = torch.arange(10, 10 + 3 * 12).reshape(3, 12)
model.generate(ids, max_new_tokens=7, do_sample=False)
mask = torch.ones_like(ids)
mask[:, 8:] = 0
model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=7, do_sample=False)
model.generate(ids, decoder_input_ids=torch.tensor([[0, 5]] * 3), max_new_tokens=3)
model.generate(ids, decoder_input_ids=torch.tensor([[5, 6]] * 3), max_new_tokens=3)
""")
    assert done.returncode == 0, done.stderr.decode()
    assert [sizes(call) for call in table.records("call")] == [
        (12, 7, 3),
        (8, 7, 3),
        (12, 3, 3),
        (12, 3, 3),
    ]


def test_streaming_assisted_and_compiled_generation_keep_working(table: Desk) -> None:
    found = said(
        table,
        """
from threading import Thread
from transformers import TextIteratorStreamer

class Tokens:
    def decode(self, ids, **_):
        return "".join(f"<{int(one)}>" for one in ids)

streamer = TextIteratorStreamer(Tokens(), skip_prompt=True)
worker = Thread(target=model.generate, kwargs=dict(
    input_ids=ids[:1], max_new_tokens=6, do_sample=False, streamer=streamer))
worker.start()
streamed = "".join(streamer)
worker.join()
plain = model.generate(ids[:1], max_new_tokens=6, do_sample=False)
helper = AutoModelForCausalLM.from_pretrained("llama")
helper.generation_config.eos_token_id = None
assisted = model.generate(ids[:1], max_new_tokens=6, do_sample=False, assistant_model=helper)
model.forward = torch.compile(model.forward, backend="eager")
compiled = model.generate(ids[:1], max_new_tokens=6, do_sample=False)
print(json.dumps({
    "streamed": streamed == "".join(f"<{one}>" for one in plain[0, 16:].tolist()),
    "assisted": assisted.tolist() == plain.tolist(),
    "compiled": compiled.tolist() == plain.tolist(),
}))
""",
    )
    assert found == {"streamed": True, "assisted": True, "compiled": True}
    assert [sizes(call) for call in table.records("call")] == [(16, 6, 1)] * 4
    assert [end["phase"] for end in table.records("phase.end")] == [
        "prepare",
        "load",
        "load",
        "run",
    ]


def test_calls_of_a_model_outside_generate_are_counted_and_make_the_run(table: Desk) -> None:
    found = said(
        table,
        """
import pickle
began = time.monotonic()
with torch.inference_mode():
    for _ in range(30):
        model(ids)
run_s = time.monotonic() - began
time.sleep(0.2)
again = pickle.loads(pickle.dumps(model))
same = torch.equal(again(ids).logits, model(ids).logits)
whole = torch.compile(model, backend="eager")
close = torch.allclose(whole(ids).logits, model(ids).logits)
print(json.dumps({"run_s": run_s, "same": same, "close": close,
                  "class": type(model).__call__.__qualname__}))
""",
    )
    assert found["same"]
    assert found["close"]
    assert found["class"] == "Module._wrapped_call_impl"
    run = table.records("phase.end")[-1]
    # 30 + 2 + 2, the compiled model's call as one
    assert run["forward_calls"] == 34
    assert table.records("call") == []


def test_errors_of_a_load_and_of_a_call(table: Desk) -> None:
    said(
        table,
        """
for step in (
    lambda: AutoModelForCausalLM.from_pretrained("not/there"),
    lambda: model.generate(ids, max_new_tokens=0),
    lambda: model.generate(ids + 5000, max_new_tokens=2),
):
    try:
        step()
    except Exception as problem:
        print(type(problem).__name__)
model.generate(ids, max_new_tokens=2)
print("0")
""",
    )
    errors = table.records("error")
    assert [error["phase"] for error in errors] == ["load", "run", "run"]
    assert {error["layer"] for error in errors} == {"hook"}
    assert errors[0]["cause"] == "weights-missing" or errors[0]["cause"] is not None
    assert len(table.records("call")) == 1
    outcomes = [(end["phase"], end["outcome"]) for end in table.records("phase.end")]
    assert ("load", "failed") in outcomes
    assert ("run", "ok") in outcomes


def test_a_model_that_is_loaded_in_another_type_is_a_change(table: Desk) -> None:
    said(
        table,
        """
model.generate(ids, max_new_tokens=2, do_sample=False)
model = AutoModelForCausalLM.from_pretrained("llama", dtype=torch.bfloat16)
model.generation_config.eos_token_id = None
model.generate(ids, max_new_tokens=2, do_sample=False)
print("0")
""",
    )
    change = table.only("change")
    assert (change["what"], change["from"], change["to"]) == ("dtype", "float32", "bfloat16")
