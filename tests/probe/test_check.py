"""`probe check` tells a working CUDA from a broken one, and survives what it asks."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from budget.probe import check

# A PyTorch with one card of compute capability 9.0 that computes on the processor. What a test
# appends after it breaks it in one place.
STAND_IN = """
import types

__version__ = "2.9.0+cu128"
version = types.SimpleNamespace(cuda="12.8", hip=None)
float32, bfloat16, uint8 = "float32", "bfloat16", "uint8"
flags = "sm_80 sm_90"


class _C:
    @staticmethod
    def _cuda_getArchFlags():
        return flags


class Tensor:
    def __init__(self, rows):
        self.rows = rows

    def __matmul__(self, other):
        columns = list(zip(*other.rows))
        return Tensor([[sum(a * b for a, b in zip(row, column)) for column in columns]
                       for row in self.rows])

    def __add__(self, other):
        return Tensor([[a + b for a, b in zip(one, two)]
                       for one, two in zip(self.rows, other.rows)])

    def float(self):
        return self

    cpu = float

    def tolist(self):
        return self.rows


def tensor(rows, dtype="float32", device="cpu"):
    return Tensor(rows)


def empty(size, dtype, device):
    return Tensor([])


class cuda:
    capability = (9, 0)
    count = 1

    @classmethod
    def get_device_capability(cls, index):
        return cls.capability

    @classmethod
    def device_count(cls):
        return cls.count

    @staticmethod
    def init():
        pass

    set_device = staticmethod(lambda index: None)
    synchronize = staticmethod(lambda: None)
    get_device_name = staticmethod(lambda index: "NVIDIA H100")
"""


class Bench:
    """A Python whose PyTorch is a stand-in, and what the check wrote and said about it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.folder = folder
        self.records: list[tuple[str, dict[str, Any]]] = []
        self.lines: list[str] = []
        monkeypatch.setenv("PYTHONPATH", str(folder))

    def check(self, addition: str = "", timeout_s: float = 20.0) -> int:
        """Check a stand-in with something appended to it."""
        (self.folder / "torch.py").write_text(STAND_IN + addition)
        return self.check_real(sys.executable, timeout_s)

    def check_real(self, python: str | None, timeout_s: float = 60.0) -> int:
        """Check whatever PyTorch a Python has."""
        return check.check(
            lambda event, fields: self.records.append((event, fields)),
            self.lines.append,
            python,
            timeout_s,
        )

    def passed(self) -> dict[str, bool | None]:
        """Each question's answer but the driver's, which is this host's own."""
        return {
            fields["name"]: fields["passed"]
            for event, fields in self.records
            if event == "check" and fields["name"] != "driver"
        }

    def said(self, name: str) -> str:
        """What was said to a question."""
        (said,) = [f["said"] for e, f in self.records if e == "check" and f["name"] == name]
        return str(said)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench of its own."""
    return Bench(tmp_path, monkeypatch)


def test_a_card_that_works_passes_all_that_is_asked_of_it(bench: Bench) -> None:
    bench.check()
    assert bench.passed() == {
        "torch": True,
        "architectures": True,
        "context": True,
        "allocation": True,
        "kernel": True,
        "bf16": True,
    }
    assert bench.said("context") == "card 0: NVIDIA H100"
    assert bench.said("architectures") == (
        "card 0: compute capability 9.0, PyTorch holds sm_80 sm_90"
    )
    (environment,) = [fields for event, fields in bench.records if event == "environment"]
    assert environment == {
        "torch": "2.9.0+cu128",
        "cuda": "12.8",
        "arch_list": ["sm_80", "sm_90"],
        "libraries": {"torch": "2.9.0+cu128"},
    }


def test_only_if_all_passed_is_the_exit_code_0(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_one(passed: bool | None) -> int:
        answers = [check.Answer(name, True, "") for name in check.QUESTIONS]
        answers[3] = check.Answer("context", passed, "x")
        monkeypatch.setattr(check, "ask", lambda python, timeout_s: check.Asked(answers, None))
        return check.check(lambda event, fields: None, lambda line: None)

    assert with_one(True) == 0
    assert with_one(False) == 1
    assert with_one(None) == 1


def test_the_questions_are_answered_in_the_documented_order(bench: Bench) -> None:
    bench.check()
    names = [fields["name"] for event, fields in bench.records if event == "check"]
    assert names == list(check.QUESTIONS)


@pytest.mark.parametrize(
    ("flags", "capability", "passed"),
    [
        ("sm_80", (8, 6), True),  # same major, higher minor
        ("sm_86", (8, 9), True),
        ("sm_89", (8, 6), False),  # the minor is too high
        ("sm_80", (9, 0), False),  # another major
        ("sm_120", (12, 1), True),
        ("sm_100", (12, 0), False),
        ("compute_80", (9, 0), True),  # PTX goes forward …
        ("compute_90", (8, 0), False),  # … and not back
        ("sm_90a", (9, 0), True),  # of one architecture alone
        ("sm_100a", (10, 3), False),
        ("sm_100f", (10, 3), True),  # of a family
        ("compute_90a", (10, 0), False),
        ("sm_50 sm_60 sm_70", (8, 0), False),
        ("sm_50 compute_70", (8, 0), True),
    ],
)
def test_architectures_are_compared_by_the_rule_of_binaries_and_ptx(
    bench: Bench, flags: str, capability: tuple[int, int], passed: bool
) -> None:
    bench.check(f"\nflags = {flags!r}\ncuda.capability = {capability}\n")
    assert bench.passed()["architectures"] is passed


def test_a_missing_kernel_is_quoted_and_explained(bench: Bench) -> None:
    addition = """
def _no_kernel(self, other):
    raise RuntimeError("CUDA error: no kernel image is available for execution on the device")

Tensor.__matmul__ = _no_kernel
"""
    assert bench.check(addition) == 1
    assert bench.passed() == {
        "torch": True,
        "architectures": True,
        "context": True,
        "allocation": True,
        "kernel": False,
        "bf16": False,
    }
    assert bench.said("kernel") == (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    )
    text = " ".join(" ".join(bench.lines).split())
    assert "Some library holds no code for this card. Run `probe check`" in text


def test_a_wrong_product_is_not_taken_for_a_right_one(bench: Bench) -> None:
    addition = """
_sum = Tensor.__add__
def _wrong(self, other):
    found = _sum(self, other)
    found.rows[3][4] += 1
    return found

Tensor.__add__ = _wrong
"""
    bench.check(addition)
    assert bench.passed()["kernel"] is False
    assert bench.said("kernel") == "card 0 computed a wrong product"


def test_a_card_without_bfloat16_is_not_said_to_have_it(bench: Bench) -> None:
    bench.check("\nflags = 'sm_70'\ncuda.capability = (7, 0)\n")
    assert bench.passed()["kernel"] is True
    assert bench.passed()["bf16"] is False
    assert "bfloat16 is emulated" in bench.said("bf16")


def test_one_of_two_cards_that_fails_is_named(bench: Bench) -> None:
    addition = """
cuda.count = 2
cuda.get_device_capability = staticmethod(lambda index: [(9, 0), (12, 0)][index])
"""
    bench.check(addition)
    assert bench.passed()["architectures"] is False
    assert bench.said("architectures").startswith("card 1 has compute capability 12.0")


def test_a_driver_that_aborts_ends_the_question_and_not_the_probe(bench: Bench) -> None:
    addition = """
import os, sys

def _abort():
    sys.stderr.write("driver: corrupted\\n")
    sys.stderr.flush()
    os.abort()

cuda.synchronize = staticmethod(_abort)
"""
    assert bench.check(addition) == 1
    assert bench.passed() == {
        "torch": True,
        "architectures": True,
        "context": False,
        "allocation": None,
        "kernel": None,
        "bf16": None,
    }
    assert bench.said("context") == "the process was killed by SIGABRT: driver: corrupted"
    assert bench.said("kernel") == "not asked: the process was killed by SIGABRT"


def test_a_driver_that_hangs_ends_with_the_time_limit(bench: Bench) -> None:
    addition = """
import subprocess, sys, time

def _hang(*arguments, **names):
    # a process of its own that keeps the streams open
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    time.sleep(60)

empty = _hang
"""
    began = time.monotonic()
    assert bench.check(addition, timeout_s=3.0) == 1
    assert time.monotonic() - began < 20
    assert bench.passed()["context"] is True
    assert bench.passed()["allocation"] is False
    assert bench.passed()["kernel"] is None
    assert bench.said("allocation") == "no answer within 3 s"


def test_a_pytorch_that_does_not_start_cuda_says_why_once(bench: Bench) -> None:
    addition = """
def _init():
    raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040).")

cuda.init = staticmethod(_init)
"""
    bench.check(addition)
    assert bench.passed() == {
        "torch": True,
        "architectures": None,
        "context": False,
        "allocation": None,
        "kernel": None,
        "bf16": None,
    }
    assert "too old (found version 11040)" in bench.said("context")
    assert bench.said("kernel") == "not asked: CUDA does not start"


def test_a_pytorch_that_sees_no_card_fails(bench: Bench) -> None:
    bench.check("\ncuda.count = 0\n")
    assert bench.passed()["architectures"] is False
    assert bench.passed()["context"] is False
    assert bench.passed()["kernel"] is None


def test_a_pytorch_that_prints_does_not_disturb_the_answers(bench: Bench) -> None:
    bench.check("\nimport os\nos.write(1, b'{\"probe_check\": 7} [] {no line end')\n")
    assert bench.passed()["kernel"] is True


def test_a_pytorch_that_cannot_be_imported_is_not_one_that_is_missing(bench: Bench) -> None:
    bench.check("\nraise ImportError('libcudart.so.12: cannot open shared object file')\n")
    assert bench.passed()["torch"] is False
    assert bench.said("torch").startswith("PyTorch cannot be imported: libcudart.so.12")
    assert bench.passed()["kernel"] is None


def test_a_python_without_pytorch_is_told_how_to_name_another(bench: Bench) -> None:
    (bench.folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    (bench.folder / "python").chmod(0o755)
    assert bench.check_real(str(bench.folder / "python")) == 1
    assert bench.passed()["torch"] is False
    assert bench.said("torch").startswith("PyTorch is not installed for python")
    assert [event for event, _ in bench.records] == ["check"] * 7


@pytest.mark.parametrize("python", ["/no/such/python", "true"])
def test_what_is_no_python_leaves_every_question_unasked(bench: Bench, python: str) -> None:
    assert bench.check_real(python) == 1
    answers = [fields["passed"] for event, fields in bench.records if event == "check"]
    assert answers == [None] * 7


def test_the_real_pytorch_for_the_processor_is_not_said_to_have_cuda(bench: Bench) -> None:
    torch = pytest.importorskip("torch")
    if torch.version.cuda or torch.version.hip:
        pytest.skip("this PyTorch is built for cards")
    assert bench.check_real(sys.executable) == 1
    assert bench.passed() == {
        "torch": False,
        "architectures": None,
        "context": None,
        "allocation": None,
        "kernel": None,
        "bf16": None,
    }
    assert bench.said("torch") == f"PyTorch {torch.__version__} was built without CUDA"
    (environment,) = [fields for event, fields in bench.records if event == "environment"]
    assert environment["torch"] == torch.__version__
    assert environment["cuda"] is None
    assert environment["arch_list"] is None


def test_every_line_fits_a_terminal_of_80_columns(bench: Bench) -> None:
    bench.check("\ncuda.count = 0\n")
    assert bench.lines
    assert max(len(line) for line in bench.lines) <= 80


def test_a_secret_in_what_is_said_is_not_written(bench: Bench) -> None:
    addition = """
def _init():
    raise RuntimeError("cannot reach https://user:hunter22@host.example/driver")

cuda.init = staticmethod(_init)
"""
    bench.check(addition)
    assert "hunter22" not in str(bench.records)
    assert "hunter22" not in " ".join(bench.lines)
