"""The environment variables of a command that change how an inference library works."""

from __future__ import annotations

import os
from typing import Dict, Mapping

from .secrets import HIDDEN, clean, is_secret_name

PREFIXES = (
    "ACCELERATE_",
    "CUBLAS_",
    "CUDA_",
    "CUDNN_",
    "DIFFUSERS_",
    "FLASHINFER_",
    "FLASH_ATTENTION_",
    "GOMP_",
    "HF_",
    "HUGGINGFACE_",
    "KMP_",
    "MKL_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "OPENBLAS_",
    "PYTORCH_",
    "ROCR_",
    "SGLANG_",
    "TOKENIZERS_",
    "TORCH",
    "TRANSFORMERS_",
    "TRITON_",
    "VLLM_",
    "XFORMERS_",
)
NAMES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "WORLD_SIZE", "LOCAL_WORLD_SIZE")


def variables(environ: Mapping[str, str] = os.environ) -> Dict[str, str]:
    """Those that are set, by name, without secrets."""
    return {
        name: HIDDEN if is_secret_name(name) else clean(environ[name])
        for name in sorted(environ)
        if name.startswith(PREFIXES) or name in NAMES
    }
