"""The `environment` record: what this process has loaded."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional

from .state import state, write

LIBRARIES = ("torch", "transformers", "diffusers", "vllm", "numpy", "flash_attn")


def record(layer: str) -> None:
    """Write it once per process, when PyTorch is loaded."""
    if not state.environment_written and "torch" in sys.modules:
        state.environment_written = True
        write("environment", _environment(), layer)


def _environment() -> Dict[str, Any]:
    torch: Any = sys.modules["torch"]
    versions = {}
    for name in LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            versions[name] = str(version)
    return {
        "torch": versions.get("torch"),
        "cuda": getattr(getattr(torch, "version", None), "cuda", None),
        "arch_list": _arch_list(torch),
        "libraries": versions,
    }


def _arch_list(torch: Any) -> Optional[List[str]]:
    # torch.cuda.get_arch_list() asks for devices, which a later fork of the program would not
    # survive; the flags are compiled in
    try:
        flags = torch._C._cuda_getArchFlags()
    except Exception:
        return None
    return str(flags).split() if flags else None
