"""Watches transformers: what loads a model, its generate calls, and its other calls."""

from __future__ import annotations

import functools
import sys
from typing import Any, Dict, Tuple

from . import tokens
from .generation import Watched
from .torch_watcher import counts_model, is_compiling
from .wrapping import bound, generating, loading, replace

LIBRARY = "transformers"
TESTED = (
    "PreTrainedModel.from_pretrained",
    "AutoModel…from_pretrained",
    "generate: decoder-only, encoder-decoder, padded batches, beams, streaming, assisted",
    "calls of a model outside generate",
)
UNTESTED = (
    "models that bring a generate of their own, such as Whisper",
    "generate_batch",
)

POSITIONAL = ("inputs", "generation_config")

LOADING = functools.partial(loading, counts=counts_model)

# Of a call's configuration, what changes how much work it is.
PARAMETERS = (
    "max_new_tokens",
    "min_new_tokens",
    "max_length",
    "num_beams",
    "num_return_sequences",
    "do_sample",
    "temperature",
    "top_k",
    "top_p",
    "repetition_penalty",
    "use_cache",
    "cache_implementation",
)


def watch_models(module: Any) -> None:
    """After `transformers.modeling_utils`."""
    replace(module.PreTrainedModel, "from_pretrained", LOADING)


def watch_auto(module: Any) -> None:
    """After `transformers.models.auto.auto_factory`."""
    base = module._BaseAutoModelClass
    for owner in (base, *_below(base)):
        replace(owner, "from_pretrained", LOADING)


def watch_generation(module: Any) -> None:
    """After `transformers.generation.utils`."""
    watched = Watched(LIBRARY, _parameters, tokens.of_generate)
    compiling = is_compiling(sys.modules["torch"])
    make = functools.partial(generating, watch=watched, is_compiling=compiling)
    replace(module.GenerationMixin, "generate", make)


def _below(owner: Any) -> Any:
    for child in owner.__subclasses__():
        yield child
        yield from _below(child)


def _parameters(model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """What a call asks for, as far as it is a plain value."""
    given = bound(POSITIONAL, args, kwargs)
    found: Dict[str, Any] = {}
    for name in PARAMETERS:
        value = tokens.setting(model, given, name)
        if isinstance(value, (bool, int, float, str)):
            found[name] = value
    first = next(model.parameters())
    found["dtype"] = str(first.dtype).replace("torch.", "")
    found["device"] = first.device.type
    attention = getattr(model.config, "_attn_implementation", None)
    if isinstance(attention, str):
        found["attention"] = attention
    size = tokens.batch_size(given)
    if size is not None:
        found["batch_size"] = size
    return found
