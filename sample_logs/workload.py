"""A small text generation with a full or a compressed key-value cache, to be measured.

The decoder next to this file generates tokens greedily for seeded random prompts, with seeded
random weights. The texts mean nothing; the work is real: weights are read from disk, attention is
computed, keys are evicted. Under `torchrun` every process generates its share of the items.

Shapes: B sequences, T tokens.
"""

import argparse
import json
import os
import time
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
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
THREADS = 2

RANK = int(os.environ.get("RANK", "0"))
WORLD_SIZE = int(os.environ.get("WORLD_SIZE", "1"))
LOCAL_RANK = int(os.environ.get("LOCAL_RANK", "0"))


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
    """Generate this process's items, each recorded as a call; return prompts and their tokens."""
    draw = torch.Generator().manual_seed(options.seed)
    shape = (options.batch_size, options.input_tokens)
    device = model.embedding.weight.device
    runs = []
    for item in range(options.items):
        prompts = torch.randint(model.config.vocabulary, shape, generator=draw).to(device)
        if item % WORLD_SIZE != RANK:
            continue
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


def over_all(runs: list, share: float | None) -> tuple[int, float | None]:
    """Tokens that all processes generated, and the mean of a share over all their items.

    Ends the process group: nothing is exchanged after it.
    """
    tokens = sum(generated.numel() for _, generated in runs)
    if WORLD_SIZE == 1:
        return tokens, share
    totals = torch.tensor([tokens, len(runs), (share or 0.0) * len(runs)], dtype=torch.float64)
    if dist.get_backend() == "nccl":
        totals = totals.cuda()
    dist.all_reduce(totals)
    # The backend's thread may let go of the tensor only after the collective has returned. Were it
    # the last holder while Python ends, PyTorch would abort the process (pytorch#190489): hence
    # the tensor outlives one more round and the group.
    dist.barrier()
    dist.destroy_process_group()
    tokens, items, agreeing = totals.tolist()
    return int(tokens), None if share is None else agreeing / items


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
    torch.set_num_threads(max(1, THREADS // WORLD_SIZE))
    if options.items < WORLD_SIZE:
        raise SystemExit(f"--items {options.items} is less than the {WORLD_SIZE} processes")
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(LOCAL_RANK)
    if WORLD_SIZE > 1:
        dist.init_process_group("nccl" if on_gpu else "gloo")
    if options.memory_limit_mib:
        limit_memory(options.memory_limit_mib)
    if RANK == 0 and not options.weights.exists():
        with phase("prepare"):
            make_weights(options.weights, Config(), WEIGHTS_SEED)
    if WORLD_SIZE > 1:
        dist.barrier()
    with phase("load"):
        model = load_model(options.weights, "cuda" if on_gpu else "cpu")
    with phase("run"):
        began = time.perf_counter()
        runs = timed_runs(model, options)
        run_s = time.perf_counter() - began
    share = None
    if options.ratio is not None and options.output_tokens > 1:
        share = token_agreement(model, runs)  # after the run, not part of it
    generated, agreement = over_all(runs, share)
    if RANK != 0:
        return
    result("generated_tokens", generated, unit="tokens", source="workload")
    summary = {"cache": options.cache, "ratio": options.ratio or 1.0, "seed": options.seed}
    summary |= {"run_s": round(run_s, 3), "generated_tokens": generated, "recorded": RECORDED}
    if agreement is not None:
        summary["token_agreement"] = agreement
        result("token_agreement", agreement, unit="share", source="workload")
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
