"""The graphics cards of the host, as the driver's library states them, else `nvidia-smi`."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Optional

from .cards import TIMEOUT_S, Cards, ask_tool

# A reader takes these two, and no other reason, to mean that the host has no card.
NONE = "nvidia-smi was not found"
NONE_ON_MACOS = "macOS has no driver for NVIDIA GPUs"

# Any of these shows a card, or a driver that may have one, without nvidia-smi: of NVIDIA, of its
# Jetson boards, of AMD, and of Windows below WSL.
TRACES = (
    "/dev/nvidia0",
    "/dev/nvidiactl",
    "/proc/driver/nvidia/version",
    "/dev/nvmap",
    "/dev/kfd",
    "/dev/dxg",
)
WSL_TOOL = "/usr/lib/wsl/lib/nvidia-smi"


def read_gpus() -> Cards:
    """Ask the driver once, for at most `TIMEOUT_S`; an absent or failing one is a reason."""
    program = smi_program()
    if program is None and not may_have_library():
        return Cards([], why_without_tool())
    named = _ask_library()
    if named is None:
        named = Cards([], why_without_tool()) if program is None else ask_tool(program)
    return named


def smi_program() -> Optional[str]:
    """Where `nvidia-smi` lies, or None."""
    return shutil.which("nvidia-smi") or (WSL_TOOL if os.path.exists(WSL_TOOL) else None)


def may_have_library() -> bool:
    """Whether anything shows that the driver's library may serve here; costs next to nothing."""
    if os.environ.get("COMPUTE_BUDGET_PROBE_NVML"):
        return True
    return sys.platform != "darwin" and _trace() is not None


def why_without_tool() -> str:
    """Why no card can be named where there is no `nvidia-smi` and no library."""
    if sys.platform == "darwin":
        return NONE_ON_MACOS
    trace = _trace()
    return NONE if trace is None else "nvidia-smi is missing, but {} shows a GPU".format(trace)


def _trace() -> Optional[str]:
    return next((trace for trace in TRACES if os.path.exists(trace)), None)


def _ask_library() -> Optional[Cards]:
    """What the library says; None if there is none."""
    from . import nvml
    from .worker import Worker

    worker = Worker(_named_by_library)
    try:
        return worker.ask(TIMEOUT_S) or Cards([], "NVML did not answer (TimeoutExpired)")
    except nvml.Unloadable:
        return None
    except nvml.Failed as problem:
        return Cards([], str(problem))
    except Exception as problem:
        return Cards([], "NVML failed: {}".format(type(problem).__name__))
    finally:
        worker.close(0.0)


def _named_by_library() -> Cards:
    from . import nvml

    library = nvml.library()
    cards = []
    for card in library.cards():
        memory = library.memory(card.handle)
        cards.append(
            {
                "index": card.number,
                "name": library.name(card.handle),
                "uuid": library.uuid(card.handle),
                "memory_bytes": memory.total_bytes,
                "compute_capability": library.compute_capability(card.handle),
                "unified": memory.unified,
                "ecc": library.ecc(card.handle),
                "persistence": library.persistence(card.handle),
                "mig": library.mig(card.handle),
                "mig_devices": [
                    {
                        "index": "{}:{}".format(card.number, number),
                        "uuid": library.uuid(instance),
                        "profile": library.profile(instance),
                        "memory_bytes": library.memory(instance).total_bytes,
                    }
                    for number, instance in library.instances(card.handle)
                ],
            }
        )
    why = None if cards else nvml.NO_CARD
    return Cards(cards, why, library.driver(), "nvml" if cards else None, library.driver_cuda())
