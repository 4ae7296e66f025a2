"""Calls a library's watcher when the program has imported that library."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from typing import Any, Dict, Optional

from .state import is_probe

# By module: which of this package's modules watches it, and by which of its functions.
WATCHERS: Dict[str, str] = {
    "torch": "torch_watcher:watch",
    "torch._dynamo.eval_frame": "torch_watcher:watch_compiled",
    "safetensors.torch": "torch_watcher:watch_safetensors",
    "transformers.modeling_utils": "transformers_watcher:watch_models",
    "transformers.generation.utils": "transformers_watcher:watch_generation",
    "transformers.models.auto.auto_factory": "transformers_watcher:watch_auto",
    "diffusers.pipelines.pipeline_utils": "diffusers_watcher:watch_pipelines",
    "diffusers.models.modeling_utils": "diffusers_watcher:watch_models",
    "vllm.entrypoints.llm": "vllm_watcher:watch",
}


class Loader:
    """A module's own loader, and the watcher after it."""

    def __init__(self, original: Any) -> None:
        self.original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def create_module(self, spec: Any) -> Any:
        """As the original does."""
        return self.original.create_module(spec)

    def exec_module(self, module: Any) -> None:
        """Load the module, which sees its own loader, and then watch it."""
        module.__loader__ = self.original
        if getattr(module, "__spec__", None) is not None:
            module.__spec__.loader = self.original
        self.original.exec_module(module)
        watch(module.__name__)


def find(finder: Any, name: str, path: Any, target: Any) -> Any:
    """The spec that the finders after `finder` give, with the loader above."""
    if is_probe():
        return None
    for other in list(sys.meta_path):
        find_spec = None if other is finder else getattr(other, "find_spec", None)
        spec = None if find_spec is None else find_spec(name, path, target)
        if spec is not None:
            if hasattr(spec.loader, "exec_module") and hasattr(spec.loader, "create_module"):
                spec.loader = Loader(spec.loader)
            return spec
    return None


def watch(name: str) -> None:
    """Watch a module that has been loaded; a library of an unknown make stays as it is."""
    watcher, _, function = WATCHERS[name].partition(":")
    try:
        from . import ending

        ending.prepare()
        module = importlib.import_module("." + watcher, __package__)
        getattr(module, function)(sys.modules[name])
    except Exception:
        return


def watch_present() -> None:
    """Watch what was imported before there was a finder."""
    for name in WATCHERS:
        if name in sys.modules and not is_probe():
            watch(name)


def find_public(name: str) -> Optional[importlib.machinery.ModuleSpec]:
    """The spec of `budget`, an empty package, or of `budget.probe`, this probe's."""
    if name == "budget":
        return importlib.machinery.ModuleSpec(name, None, is_package=True)
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    finder: Any = importlib.machinery.PathFinder
    found = finder.find_spec("probe", [os.path.dirname(here)])
    if found is None or found.loader is None:
        return None
    loader: Any = _Renamed(found.loader)
    return importlib.util.spec_from_loader(name, loader, is_package=True)


class _Renamed:
    """Loads `budget.probe` for a program; its code is the probe's `__init__`."""

    def __init__(self, original: Any) -> None:
        self.original = original

    def create_module(self, spec: Any) -> None:
        """As Python does."""

    def exec_module(self, module: Any) -> None:
        """Run the code of the public functions."""
        exec(self.original.get_code("probe"), module.__dict__)
