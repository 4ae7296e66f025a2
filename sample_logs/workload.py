"""A small text generation with a full or a compressed key-value cache, to be measured.

The decoder next to this file generates tokens greedily for seeded random prompts, with seeded
random weights. The texts mean nothing; the work is real: weights are read from disk, attention is
computed, keys are evicted.

Shapes: B sequences, T tokens.
"""

import argparse
import json
import time
from contextlib import nullcontext
from pathlib import Path

import torch
from decoder import Config, Decoder, generate, load_model, make_weights
from torch import Tensor

try:
    from budget.probe import call, phase, result

    RECORDED = True
except ImportError:  # the workload also runs by itself, unmeasured

    def phase(name):
        return nullcontext()

    def call(**sizes):
        return None

    def result(name, value, **context):
        return None

    RECORDED = False

MIB = 1024**2
WEIGHTS_SEED = 2023


def token_agreement(model: Decoder, runs: list[tuple[Tensor, Tensor]]) -> float:
    """The share of generated tokens that the full cache also chooses, fed the same tokens.

    The first token of a sequence follows from the prefill, before any eviction, and is left out.
    One sequence at a time, so that this check needs less memory than a run of a larger batch.
    """
    equal = []
    for prompts, generated in runs:
        for prompt, tokens in zip(prompts.split(1), generated.split(1), strict=True):
            full = generate(model, prompt, tokens.shape[1], forced=tokens)
            equal.append((full == tokens)[:, 1:])
    return torch.cat(equal).double().mean().item()


def limit_memory(mebibytes: int) -> None:
    """Let this process allocate that much more from here on; beyond, the allocation fails."""
    if torch.cuda.is_available():
        share = mebibytes * MIB / torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(share, 1.0))
        return
    import resource  # Unix only, as is the limit

    status = Path("/proc/self/status").read_text(encoding="ascii")
    in_use = int(status.split("VmData:")[1].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (in_use + mebibytes * MIB, resource.RLIM_INFINITY))


def timed_runs(model: Decoder, options) -> list[tuple[Tensor, Tensor]]:
    """Generate every item and record it as one call; return prompts and generated tokens."""
    draw = torch.Generator().manual_seed(options.seed)
    shape = (options.batch_size, options.input_tokens)
    device = model.embedding.weight.device
    runs = []
    for _ in range(options.items):
        prompts = torch.randint(model.config.vocabulary, shape, generator=draw).to(device)
        began = time.perf_counter()
        generated = generate(model, prompts, options.output_tokens, options.ratio)
        if device.type == "cuda":
            torch.cuda.synchronize()
        call(
            duration_s=time.perf_counter() - began,
            input_tokens=prompts.shape[1],
            output_tokens=generated.shape[1],
            batch_size=prompts.shape[0],
        )
        runs.append((prompts, generated))
    return runs


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """The command line; a bad value ends with a sentence. `ratio` is None for the full cache."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cache", choices=("full", "compressed"), default="full")
    parser.add_argument("--ratio", type=float, help="share of the keys that is kept")
    for name, default in (("input-tokens", 512), ("output-tokens", 32), ("batch-size", 1)):
        parser.add_argument(f"--{name}", type=positive, default=default)
    parser.add_argument("--items", type=positive, default=4, help="batches to generate")
    parser.add_argument("--seed", type=int, default=0, help="draws the prompts")
    parser.add_argument("--workdir", type=Path, default=Path("sample-workload-data"))
    parser.add_argument("--weights", type=Path, help="default: weights.pt in the workdir")
    parser.add_argument("--memory-limit-mib", type=positive, help="beyond the use at start")
    options = parser.parse_args(argv)
    if options.cache == "compressed" and not 0 < (options.ratio or 0) <= 1:
        parser.error("a compressed cache needs --ratio above 0 and at most 1")
    if options.cache == "full" and options.ratio not in (None, 1.0):
        parser.error("a full cache keeps every key: leave --ratio out or give 1.0")
    if options.memory_limit_mib and not (torch.cuda.is_available() or Path("/proc/self").exists()):
        parser.error("--memory-limit-mib works on Linux only")
    options.ratio = options.ratio if options.cache == "compressed" else None
    options.weights = options.weights or options.workdir / "weights.pt"
    return options


def positive(text: str) -> int:
    """A whole number of at least 1, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def main() -> None:
    """Prepare where needed, load, run; then check the quality and print a summary."""
    options = arguments()
    torch.set_num_threads(2)
    if options.memory_limit_mib:
        limit_memory(options.memory_limit_mib)
    if not options.weights.exists():
        with phase("prepare"):
            make_weights(options.weights, Config(), WEIGHTS_SEED)
    with phase("load"):
        model = load_model(options.weights, "cuda" if torch.cuda.is_available() else "cpu")
    with phase("run"):
        began = time.perf_counter()
        runs = timed_runs(model, options)
        run_s = time.perf_counter() - began
    generated = sum(tokens.numel() for _, tokens in runs)
    result("generated_tokens", generated, unit="tokens", source="workload")
    summary = {"cache": options.cache, "ratio": options.ratio or 1.0, "seed": options.seed}
    summary |= {"run_s": round(run_s, 3), "generated_tokens": generated, "recorded": RECORDED}
    if options.ratio is not None and options.output_tokens > 1:
        summary["token_agreement"] = token_agreement(model, runs)  # after the run, not part of it
        result("token_agreement", summary["token_agreement"], unit="share", source="workload")
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
