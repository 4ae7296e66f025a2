"""The sample workload really loads, really caches and really evicts."""

import json
import subprocess
import sys
from pathlib import Path

import decoder
import pytest
import torch
import workload

TINY = decoder.Config(layers=2, width=32, heads=2, vocabulary=64)
SCRIPT = Path(workload.__file__)


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "weights.pt"
    decoder.make_weights(path, TINY, seed=1)
    return path


@pytest.fixture(scope="module")
def model(weights):
    return decoder.load_model(weights, "cpu")


def prompts(batch=2, length=24):
    draw = torch.Generator().manual_seed(3)
    return torch.randint(TINY.vocabulary, (batch, length), generator=draw)


def run_script(*arguments):
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def stored_tensors(path):
    return torch.load(path, weights_only=True)["tensors"]


def test_the_same_seed_makes_the_same_weights_and_another_seed_does_not(weights, tmp_path):
    same, other = tmp_path / "same.pt", tmp_path / "other.pt"
    decoder.make_weights(same, TINY, seed=1)
    decoder.make_weights(other, TINY, seed=2)
    first = stored_tensors(weights)
    assert all(torch.equal(first[name], drawn) for name, drawn in stored_tensors(same).items())
    assert not torch.equal(first["head.weight"], stored_tensors(other)["head.weight"])


def test_the_model_holds_what_the_file_says(weights, model):
    stored = stored_tensors(weights)
    assert stored.keys() == model.state_dict().keys()
    assert all(torch.equal(stored[name], held) for name, held in model.state_dict().items())


def test_a_damaged_weights_file_makes_the_load_fail(weights, tmp_path):
    damaged = tmp_path / "weights.pt"
    damaged.write_bytes(weights.read_bytes()[:-200])
    ran = run_script("--weights", damaged, "--items", 1)
    assert ran.returncode != 0
    assert "load_model" in ran.stderr
    assert "timed_runs" not in ran.stderr


@torch.inference_mode()
def test_decoding_through_the_full_cache_equals_recomputing_everything(model):
    tokens = prompts()
    cache = decoder.new_cache(TINY, 24, ratio=None)
    logits = [model(tokens[:, :20], 0, cache)]
    logits += [model(tokens[:, at : at + 1], at, cache) for at in range(20, 24)]
    for length, cached in zip(range(20, 25), logits, strict=True):
        fresh = model(tokens[:, :length], 0, decoder.new_cache(TINY, length, ratio=None))
        torch.testing.assert_close(cached, fresh, rtol=1e-4, atol=1e-4)


def test_attention_in_chunks_equals_torch_attention(monkeypatch):
    monkeypatch.setattr(decoder, "QUERY_CHUNK", 5)
    draw = torch.Generator().manual_seed(5)
    states = torch.randn(3, 2, 2, 12, 8, generator=draw)
    mass = torch.zeros(2, 2, 12)
    ours = decoder.attend(*states, mass)
    theirs = torch.nn.functional.scaled_dot_product_attention(*states, is_causal=True)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(mass.sum(-1), torch.full((2, 2), 12.0))


def test_a_compressed_cache_that_keeps_everything_equals_the_full_one(model):
    full = decoder.generate(model, prompts(), 8)
    assert torch.equal(decoder.generate(model, prompts(), 8, ratio=1.0), full)


@pytest.mark.parametrize("ratio", [0.01, 0.3, 0.7, 0.95])
@torch.inference_mode()
def test_the_compressed_cache_never_holds_more_keys_than_its_budget(model, ratio):
    cache = decoder.new_cache(TINY, 32, ratio)
    budget = max(1, int(ratio * 32))
    tokens = prompts(length=32)
    for first, last in [(0, 24), *((at, at + 1) for at in range(24, 32))]:
        model(tokens[:, first:last], first, cache)
        for layer in cache:
            assert layer.held == min(budget, last)
            assert layer.keys.shape[2] == layer.values.shape[2] == budget
    assert all(layer.seen == 32 for layer in cache)


def test_eviction_takes_the_least_attended_key_and_keeps_the_recent_window():
    layer = decoder.CompressedLayer(capacity=4)
    zeros = torch.zeros(1, 1, 6, 2)
    layer.attend(zeros, zeros, zeros)  # uniform attention: the earliest keys received most
    assert layer.positions.tolist() == [[[0, 1, 4, 5]]]
    layer.attend(zeros[:, :, :1], zeros[:, :, :1], zeros[:, :, :1])
    assert layer.positions.tolist() == [[[0, 1, 6, 5]]]
    assert layer.seen == 7


def test_agreement_is_1_when_nothing_is_evicted_and_lower_when_most_is(model):
    def agreement(ratio):
        return workload.token_agreement(
            model, [(prompts(), decoder.generate(model, prompts(), 16, ratio))]
        )

    assert agreement(1.0) == 1.0
    assert 0.0 < agreement(0.7) < 1.0
    assert agreement(0.1) < agreement(0.7)


def test_the_script_reports_what_it_did_in_one_line(weights):
    ran = run_script(
        *("--weights", weights, "--cache", "compressed", "--ratio", 0.5),
        *("--input-tokens", 16, "--output-tokens", 4, "--batch-size", 2, "--items", 3),
    )
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    assert summary["generated_tokens"] == 24
    assert 0 <= summary["token_agreement"] <= 1


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the limit needs Linux")
def test_a_memory_limit_makes_the_run_fail_with_the_message_of_torch(weights):
    long = ("--weights", weights, "--items", 1, "--input-tokens", 2048, "--output-tokens", 2)
    ran = run_script(*long, "--batch-size", 64, "--memory-limit-mib", 200)
    assert ran.returncode == 1
    assert "timed_runs" in ran.stderr  # the model was loaded before
    assert "memory" in ran.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--cache", "compressed"], "needs --ratio above 0"),
        (["--cache", "compressed", "--ratio", "1.2"], "at most 1"),
        (["--cache", "full", "--ratio", "0.5"], "keeps every key"),
        (["--items", "0"], "not a whole number of at least 1"),
    ],
)
def test_a_bad_value_is_refused_with_a_sentence(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as refused:
        workload.arguments(arguments)
    assert refused.value.code == 2
    assert sentence in capsys.readouterr().err


def test_two_processes_generate_what_one_does(tmp_path):
    """Four items of 1 x 6 tokens are 24 tokens, whoever generates them."""
    sizes = ("--items", 4, "--input-tokens", 32, "--output-tokens", 6, "--cache", "compressed",
             "--ratio", 0.5, "--workdir", tmp_path)  # fmt: skip
    alone = json.loads(run_script(*sizes).stdout)
    done = subprocess.run(
        [Path(sys.executable).with_name("torchrun"), "--standalone", "--nproc-per-node", "2",
         SCRIPT, *map(str, sizes)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    together = json.loads(done.stdout.splitlines()[-1])
    assert alone["generated_tokens"] == together["generated_tokens"] == 24
    assert together["token_agreement"] == pytest.approx(alone["token_agreement"])
