"""A host and its software as the probe read them. Memory is in bytes."""

from __future__ import annotations

import msgspec

NO_GPU_SIGN = "nvidia-smi was not found"
NO_GPU_SIGN_MACOS = "macOS has no driver for NVIDIA GPUs"
NO_GPU_SIGNS = (NO_GPU_SIGN, NO_GPU_SIGN_MACOS)
"""The only reasons of ``Host.gpus_why`` that mean that the host has no GPU (probe/LOG.md)."""


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """One MIG instance of a GPU; ``index`` is card and instance, such as ``0:1``."""

    index: str | None = None
    uuid: str | None = None
    profile: str | None = None
    memory_bytes: int | None = None


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU of a host as probed."""

    index: int | None = None
    name: str | None = None
    uuid: str | None = None
    memory_bytes: int | None = None
    compute_capability: str | None = None
    mig_profile: str | None = None
    """The profile of its instances, where all have one."""
    unified: bool | None = None
    """Whether card and host share one memory."""
    ecc: bool | None = None
    persistence: bool | None = None
    mig: bool | None = None
    instances: tuple[Instance, ...] = ()

    @property
    def usable_bytes(self) -> int | None:
        """What one program can use: the smallest instance of a GPU that is cut, else all."""
        sizes = [item.memory_bytes for item in self.instances if item.memory_bytes is not None]
        return min(sizes, default=self.memory_bytes)


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A host as probed."""

    os: str | None = None
    cpu: str | None = None
    cpu_count: int | None = None
    ram_bytes: int | None = None
    python: str | None = None
    driver: str | None = None
    driver_cuda: str | None = None
    """The newest CUDA version that the driver serves."""
    nvcc: str | None = None
    gpus: tuple[Gpu, ...] = ()
    gpus_read_by: str | None = None
    gpus_why: str | None = None
    """Why no GPU is listed, where none is."""

    @property
    def gpu_count(self) -> int | None:
        """Number of GPUs: 0 when the host is known to have none, None when it is not known."""
        if self.gpus:
            return len(self.gpus)
        return 0 if self.gpus_why in NO_GPU_SIGNS else None

    @property
    def unified(self) -> bool:
        """Whether its cards share the host's memory: then what counts is the host's peak."""
        return bool(self.gpus) and all(gpu.unified for gpu in self.gpus)

    def size_of(self, gpu: Gpu) -> int | None:
        """Return the memory that a program on ``gpu`` can use; of unified memory, the host's."""
        return gpu.usable_bytes or (self.ram_bytes if gpu.unified else None)

    def memory_of(self, device: str) -> int | None:
        """Return the memory of a device as ``Memory.device`` and ``Sample.device`` name it."""
        if device == "host":
            return self.ram_bytes
        for position, gpu in enumerate(self.gpus):
            if device == str(position if gpu.index is None else gpu.index):
                return gpu.memory_bytes
            for instance in gpu.instances:
                if device == instance.index:
                    return instance.memory_bytes
        return None


class Software(msgspec.Struct, frozen=True, kw_only=True):
    """What the measured process had loaded. ``cuda`` None with a torch: a build without CUDA."""

    torch: str | None = None
    cuda: str | None = None
    arch_list: tuple[str, ...] = ()
    libraries: dict[str, str] = {}
