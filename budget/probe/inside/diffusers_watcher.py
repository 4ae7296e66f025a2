"""Watches diffusers: what loads a pipeline or a model, and the pipeline's calls."""

from __future__ import annotations

import functools
from typing import Any, Dict, Tuple

from .generation import Sizes, Watched
from .torch_watcher import counts_model
from .wrapping import generating, loading, replace

LIBRARY = "diffusers"
TESTED = (
    "DiffusionPipeline.from_pretrained",
    "calls of a pipeline",
    "ModelMixin.from_pretrained and calls of such a model",
)
UNTESTED: Tuple[str, ...] = ()

# What of a call changes how much work it is.
PARAMETERS = (
    "num_inference_steps",
    "height",
    "width",
    "num_frames",
    "guidance_scale",
    "num_images_per_prompt",
    "batch_size",
)
ITEMS = ("images", "frames", "audios", "image_embeds")


def watch_pipelines(module: Any) -> None:
    """After `diffusers.pipelines.pipeline_utils`: each pipeline's class defines its own call."""
    base = module.DiffusionPipeline
    replace(base, "from_pretrained", loading)
    make = functools.partial(generating, watch=Watched(LIBRARY, _parameters, _sizes))

    def watch_class(cls: Any, /, **kwargs: Any) -> None:
        super(base, cls).__init_subclass__(**kwargs)
        replace(cls, "__call__", make)

    base.__init_subclass__ = classmethod(watch_class)
    for owner in _below(base):
        replace(owner, "__call__", make)


def watch_models(module: Any) -> None:
    """After `diffusers.models.modeling_utils`."""
    replace(module.ModelMixin, "from_pretrained", functools.partial(loading, counts=counts_model))


def _below(owner: Any) -> Any:
    for child in owner.__subclasses__():
        yield child
        yield from _below(child)


def _parameters(pipeline: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    found = {
        name: kwargs[name]
        for name in PARAMETERS
        if isinstance(kwargs.get(name), (bool, int, float, str))
    }
    prompts = kwargs.get("prompt", args[0] if args else None)
    if isinstance(prompts, (str, list)):
        found.setdefault("batch_size", 1 if isinstance(prompts, str) else len(prompts))
    found["dtype"] = str(getattr(pipeline, "dtype", None)).replace("torch.", "")
    return found


def _sizes(pipeline: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], result: Any) -> Sizes:
    """Images, films or sounds that came out; a pipeline counts no tokens."""
    items = result[0] if isinstance(result, tuple) else None
    for name in ITEMS:
        items = getattr(result, name, items)
    return Sizes(batch_size=None if items is None else len(items))
