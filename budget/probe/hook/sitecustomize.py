"""Python runs this file when it starts, in every process below `probe run`.

It only makes itself ready: what watches a library is loaded when the program imports that library.
Nothing here may fail or be felt, and the user's own `sitecustomize` runs as if this one were not.
"""

from __future__ import annotations

import atexit
import os
import sys
import time

# `typing` would be the greatest part of what a start costs
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, List

HERE = os.path.dirname(__file__)

# The probe's modules are loaded under a name of their own: the program may have a `budget` too.
PRIVATE = "_compute_budget_probe"
PUBLIC = "budget.probe"

# The modules after whose import something is watched; `inside.finder` says by what.
WATCHED = frozenset(
    (
        "torch",
        "torch._dynamo.eval_frame",
        "safetensors.torch",
        "transformers.modeling_utils",
        "transformers.generation.utils",
        "transformers.models.auto.auto_factory",
        "diffusers.pipelines.pipeline_utils",
        "diffusers.models.modeling_utils",
        "vllm.entrypoints.llm",
    )
)


class Watch:
    """First on `sys.meta_path`: has a watched module's loader wrapped, and finds nothing itself."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec that the other finders give, with a loader that calls the watcher."""
        if name not in WATCHED:
            return None
        try:
            finder = __import__(PRIVATE + ".inside.finder", fromlist=["find"])
            return finder.find(self, name, path, target)
        except Exception:
            return None


class LastResort:
    """Last on `sys.meta_path`: gives a program `budget.probe` where it is not installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Nothing but `budget.probe`, and `budget` only on the way there."""
        if name != PUBLIC and not (name == "budget" and _is_on_the_way()):
            return None
        try:
            finder = __import__(PRIVATE + ".inside.finder", fromlist=["find_public"])
            return finder.find_public(name)
        except Exception:
            return None


def _is_on_the_way() -> bool:
    # a program that only asks whether there is a `budget` must hear what it would hear without us
    frame = sys._getframe(2)
    for _ in range(12):
        if frame is None:
            return False
        if frame.f_code.co_name == "_find_and_load" and frame.f_locals.get("name") == PUBLIC:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _end() -> None:
    # importing for an error alone, so that most programs load nothing more of the probe; an
    # interrupt is none, and Python forgets it where a named tuple is defined meanwhile
    failure = getattr(sys, "last_value", None)
    is_error = failure is not None and not isinstance(failure, KeyboardInterrupt)
    if PRIVATE + ".inside.ending" in sys.modules or is_error:
        try:
            __import__(PRIVATE + ".inside.ending", fromlist=["finish"]).finish()
        except Exception:
            return


def _say_started() -> None:
    try:
        descriptor = os.open(
            os.environ["COMPUTE_BUDGET_PROBE_HELLO"], os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        )
        try:
            os.write(descriptor, "{} started\n".format(os.getpid()).encode())
        finally:
            os.close(descriptor)
    except (OSError, KeyError):
        return


def _start() -> None:
    if "COMPUTE_BUDGET_PROBE_ATTEMPT" not in os.environ or PRIVATE in sys.modules:
        return
    private: Any = type(sys)(PRIVATE)
    private.__path__ = [os.path.dirname(HERE)]
    private.started = (time.time_ns(), time.monotonic_ns())
    sys.modules[PRIVATE] = private
    sys.meta_path.insert(0, Watch())
    sys.meta_path.append(LastResort())
    atexit.register(_end)
    _say_started()
    # a `.pth` file of the environment comes before this one
    if not WATCHED.isdisjoint(sys.modules):
        __import__(PRIVATE + ".inside.finder", fromlist=["find"]).watch_present()


def _run_the_users_own() -> None:
    """Import the next `sitecustomize`; what it raises is for Python to show, as ever."""
    own = os.path.abspath(HERE)
    others: List[str] = [part for part in sys.path if os.path.abspath(part or ".") != own]
    sys.path[:] = others
    this: ModuleType = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as problem:
        if problem.name != "sitecustomize":
            raise
        # Python looks for the module that it has just loaded
        sys.modules["sitecustomize"] = this


if __name__ == "sitecustomize":
    try:  # noqa: SIM105 — contextlib is not loaded in every program
        _start()
    except Exception:
        pass
    _run_the_users_own()
