"""Watches PyTorch: what reads weights, what moves a model, what resets the peaks of memory."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Optional, Tuple

from . import automatic, counters
from .wrapping import MARK, calling, loading, marked, never, replace

LIBRARY = "torch"
TESTED = (
    "torch.load",
    "Module.load_state_dict",
    "safetensors.torch.load_file",
    "calls of a model of the program's own class whose weights were loaded by these",
    "torch.compile of such a model",
)
UNTESTED = (
    "Module.to and Module.cuda, where they move a loaded model to a card",
    "torch.cuda.reset_peak_memory_stats on a real card",
)


def watch(torch: Any) -> None:
    """After `torch`."""
    compiling = is_compiling(torch)
    module = torch.nn.Module
    read = functools.partial(loading, plain=True, counts=_read)
    # the package holds the function under its own name too
    replace(torch.serialization, "load", read)
    torch.load = torch.serialization.load
    replace(module, "load_state_dict", lambda original: _filling(original, compiling))
    for name in ("to", "cuda"):
        replace(module, name, lambda original: _moving(original, compiling))
    _watch_resets(torch)


def watch_safetensors(safetensors: Any) -> None:
    """After `safetensors.torch`."""
    replace(safetensors, "load_file", functools.partial(loading, plain=True, counts=_read))


def watch_compiled(frames: Any) -> None:
    """After `torch._dynamo.eval_frame`: a compiled model calls its own code, not the model's."""
    compiling = is_compiling(sys.modules["torch"])
    compiled = frames.OptimizedModule

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        watched = calling(original, compiling)

        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            inner = self.__dict__.get("_modules", {}).get("_orig_mod")
            if hasattr(type(inner).__call__, MARK):
                return watched(self, *args, **kwargs)
            return original(self, *args, **kwargs)

        return call

    if compiling is not never or not hasattr(frames, "OptimizedModule"):
        watch_calls(compiled, compiling, make)


def is_compiling(torch: Any) -> Callable[[], bool]:
    """The function that is true while a compiler reads the program, which it knows to be true."""
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", never)


def watch_calls(
    owner: Any,
    compiling: Callable[[], bool],
    make: Optional[Callable[[Callable[..., Any]], Callable[..., Any]]] = None,
) -> None:
    """Watch the calls of a class of models, and of those that inherit from it.

    A torch that compiles and does not say when is left alone.
    """
    torch = sys.modules["torch"]
    if (compiling is never and hasattr(torch, "_dynamo")) or hasattr(owner.__call__, MARK):
        return
    original = vars(owner).get("__call__")
    if original is None:

        def inherited(self: Any, *args: Any, **kwargs: Any) -> Any:
            return super(owner, self).__call__(*args, **kwargs)

        functools.update_wrapper(inherited, torch.nn.Module.__call__)
        original = inherited
    make = make or functools.partial(calling, is_compiling=compiling)
    owner.__call__ = marked(make(original))


def watch_class_of(model: Any) -> None:
    """Watch the calls of a loaded model by its class, which is the program's or a library's.

    The classes of PyTorch itself are parts of others, or wrap a model that is watched itself.
    """
    torch = sys.modules["torch"]
    owner = type(model)
    package = str(owner.__module__).partition(".")[0]
    if isinstance(model, torch.nn.Module) and package != "torch":
        watch_calls(owner, is_compiling(torch))


def counts_model(found: Any, result: Any) -> bool:
    """Of a call that gives a model, or a model with what it says of its weights: it is a load."""
    watch_class_of(result[0] if isinstance(result, tuple) else result)
    return True


def _read(found: Any, result: Any) -> bool:
    # a worker that reads the program's data loads no model
    workers = sys.modules.get("torch.utils.data._utils.worker")
    if getattr(workers, "_worker_info", None) is not None:
        return False
    watch_class_of(result)
    return True


def _filling(original: Callable[..., Any], compiling: Callable[[], bool]) -> Callable[..., Any]:
    def counts(model: Any, result: Any) -> bool:
        if automatic.thread.loads == 1 and automatic.thread.calls == 0:
            watch_class_of(model)
        return True

    return _unless_compiling(
        original, loading(original, True, lambda args: args[0] if args else None, counts), compiling
    )


def _moving(original: Callable[..., Any], compiling: Callable[[], bool]) -> Callable[..., Any]:
    """Moving a model to another device or type is a part of its load; moving nothing is none."""

    def counts(before: Any, result: Any) -> bool:
        return before is not None and before != _place((result,))

    return _unless_compiling(original, loading(original, True, _place, counts), compiling)


def _place(args: Tuple[Any, ...]) -> Any:
    """Device and type of a model's first parameter; None for a part of a model without any."""
    try:
        first = next(args[0].parameters())
        return str(first.device), str(first.dtype)
    except Exception:
        return None


def _unless_compiling(
    original: Callable[..., Any], watched: Callable[..., Any], compiling: Callable[[], bool]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if compiling() else watched(*args, **kwargs)

    return method


def _watch_resets(torch: Any) -> None:
    # the older names of the function call it by its name in this module
    owner = getattr(torch.cuda, "memory", torch.cuda)
    for name in (
        "reset_peak_memory_stats",
        "reset_max_memory_allocated",
        "reset_max_memory_cached",
    ):
        if owner is torch.cuda or name == "reset_peak_memory_stats":
            replace(owner, name, lambda original: _resetting(original, torch))
            setattr(torch.cuda, name, vars(owner).get(name, getattr(torch.cuda, name, None)))
    accelerator = getattr(getattr(torch, "accelerator", None), "memory", None)
    if accelerator is not None:
        replace(
            accelerator, "reset_peak_memory_stats", lambda original: _resetting(original, torch)
        )
        torch.accelerator.reset_peak_memory_stats = accelerator.reset_peak_memory_stats


def _resetting(original: Callable[..., Any], torch: Any) -> Callable[..., Any]:
    @functools.wraps(original)
    def reset(*args: Any, **kwargs: Any) -> Any:
        try:
            if torch.cuda.is_initialized():
                given = args[0] if args else next(iter(kwargs.values()), None)
                counters.before_reset(_device_index(torch, given), torch.cuda)
        except Exception:
            # what the program asks for happens all the same
            pass
        return original(*args, **kwargs)

    return reset


def _device_index(torch: Any, given: Any) -> int:
    if isinstance(given, int):
        return given
    if given is not None:
        index = torch.device(given).index
        if index is not None:
            return int(index)
    return int(torch.cuda.current_device())
