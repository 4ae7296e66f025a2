"""Puts a watcher around a function of a library, so that the program finds the same function."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, Optional, Tuple

from . import automatic

MARK = "_compute_budget_watched"

Function = Callable[..., Any]


def replace(owner: Any, name: str, make: Callable[[Function], Function]) -> None:
    """Put `make(original)` in the place of what a class or module itself defines by this name.

    What is not there, or is watched already, stays as it is.
    """
    original = vars(owner).get(name)
    if isinstance(original, (classmethod, staticmethod)):
        function = original.__func__
        if not hasattr(function, MARK):
            setattr(owner, name, type(original)(marked(make(function))))
    elif callable(original) and not hasattr(original, MARK):
        setattr(owner, name, marked(make(original)))


def marked(function: Function) -> Function:
    """The function, known as watched."""
    setattr(function, MARK, True)
    return function


def never() -> bool:
    """Of a torch without a compiler: nothing is ever being compiled."""
    return False


def loading(
    original: Function,
    plain: bool = False,
    before: Optional[Callable[[Tuple[Any, ...]], Any]] = None,
    counts: Optional[Callable[[Any, Any], bool]] = None,
) -> Function:
    """A function whose outermost call is a load.

    A `plain` one may also read data, or do nothing: it counts if `counts` says so of what `before`
    found and of the result.
    """

    @functools.wraps(original)
    def load(*args: Any, **kwargs: Any) -> Any:
        found = None if before is None else before(args)
        automatic.begin_load(plain)
        try:
            result = original(*args, **kwargs)
        except BaseException as failure:
            automatic.end_load(plain, True, failure)
            raise
        automatic.end_load(plain, counts is None or _does_count(counts, found, result))
        return result

    return load


def _does_count(counts: Callable[[Any, Any], bool], found: Any, result: Any) -> bool:
    try:
        return counts(found, result)
    except Exception:
        return False


def calling(original: Function, is_compiling: Callable[[], bool] = never) -> Function:
    """A model's call: its outermost is part of the run, and is counted.

    Where a compiler reads this function, it finds the original's call alone. It holds no module of
    the probe: some libraries pickle the classes of a program's main module whole, and where they
    are read again there may be no probe.
    """

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(self, *args, **kwargs)
        probe = sys.modules.get("_compute_budget_probe.inside.automatic")
        if probe is None:
            return original(self, *args, **kwargs)
        outermost = probe.begin_call()
        try:
            result = original(self, *args, **kwargs)
        except BaseException as failure:
            probe.end_call(outermost, True, failure)
            raise
        probe.end_call(outermost, True)
        return result

    return call


def generating(
    original: Function, watch: Any, is_compiling: Callable[[], bool] = never
) -> Function:
    """A call that takes and gives tokens or items: part of the run, with a `call` of its own.

    `watch.begin(self, args, kwargs)` looks at what goes in, `watch.end(…)` counts what came out.
    """

    @functools.wraps(original)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(self, *args, **kwargs)
        generation = watch(self, args, kwargs)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as failure:
            generation.fail(failure)
            raise
        generation.end(result)
        return result

    return generate


def bound(signature: Tuple[str, ...], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    """Arguments by name, where the library's own order of positional ones is `signature`."""
    # the strict zip is newer than the oldest Python that is measured
    return {**dict(zip(signature, args)), **kwargs}  # noqa: B905
