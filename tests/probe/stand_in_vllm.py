"""A library of two classes in the shape of vLLM's, so that a hooked program starts in no time."""

from __future__ import annotations

from pathlib import Path

ENGINE = '''
import time
from types import SimpleNamespace


class LLM:
    def __init__(self, model, load_s=0.1):
        if model == "missing":
            raise OSError("no such model: /srv/models/missing")
        time.sleep(load_s)

    def generate(self, prompts, sampling_params=None, run_s=0.05, produced=7):
        """Make tokens."""
        time.sleep(run_s)
        if len(prompts) > 4:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"
                               " capacity of 79.15 GiB of which 1.20 GiB is free.")
        return [
            SimpleNamespace(
                prompt_token_ids=[1] * len(prompt),
                outputs=[SimpleNamespace(token_ids=[5] * produced)],
            )
            for prompt in prompts
        ]
'''


def put(folder: Path) -> None:
    """Write the library into a folder from which a program runs."""
    package = folder / "vllm"
    (package / "entrypoints").mkdir(parents=True)
    (package / "__init__.py").write_text("from .entrypoints.llm import LLM\n", encoding="utf-8")
    (package / "entrypoints" / "__init__.py").write_text("", encoding="utf-8")
    (package / "entrypoints" / "llm.py").write_text(ENGINE, encoding="utf-8")
