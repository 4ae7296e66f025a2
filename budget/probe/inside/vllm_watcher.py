"""Watches vLLM's offline engine: its start is the load, its generate calls are the run."""

from __future__ import annotations

import functools
from typing import Any, Dict, Tuple

from .generation import Sizes, Watched
from .wrapping import generating, loading, replace

LIBRARY = "vllm"
TESTED: Tuple[str, ...] = ()
UNTESTED = ("LLM.__init__", "LLM.generate", "LLM.chat")

PARAMETERS = ("max_tokens", "min_tokens", "n", "temperature", "top_p", "top_k")


def watch(module: Any) -> None:
    """After `vllm.entrypoints.llm`."""
    replace(module.LLM, "__init__", loading)
    make = functools.partial(generating, watch=Watched(LIBRARY, _parameters, _sizes))
    for name in ("generate", "chat"):
        replace(module.LLM, name, make)


def _parameters(engine: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    sampling = kwargs.get("sampling_params", args[1] if len(args) > 1 else None)
    found = {
        name: value
        for name, value in ((name, getattr(sampling, name, None)) for name in PARAMETERS)
        if isinstance(value, (bool, int, float, str))
    }
    prompts = kwargs.get("prompts", args[0] if args else None)
    if isinstance(prompts, (list, tuple)):
        found["batch_size"] = len(prompts)
    return found


def _sizes(engine: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], result: Any) -> Sizes:
    """Tokens are of one sequence: the mean over the requests, rounded."""
    going_in = [len(request.prompt_token_ids) for request in result]
    coming_out = [len(made.token_ids) for request in result for made in request.outputs]
    return Sizes(_mean(going_in), _mean(coming_out), len(result))


def _mean(counts: Any) -> Any:
    return int(sum(counts) / len(counts) + 0.5) if counts else None
