"""Asks whether CUDA really works on this host, down to a product that the card computes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from . import causes
from .secrets import clean

QUESTIONS = ("driver", "torch", "architectures", "context", "allocation", "kernel", "bf16")

# All questions together: the first use of a large host's cards alone may take a minute.
TIMEOUT_S = 120.0
# How long a killed process may take to go; one that waits for a dead card never does.
GONE_S = 5.0

SAID_CHARACTERS = 500
COLUMNS = 80

WORDS = {True: "yes", False: "NO", None: "-"}

# What the other Python runs. It is its own program so that a driver that crashes or hangs ends
# that process alone. Each answer is a line of its own, written at once.
PROGRAM = r'''
import ctypes, json, os, sys

BLOCK_BYTES = 64 * 2**20
SIZE = 16


class Refused(Exception):
    pass


class Unasked(Exception):
    pass


def tell(**answer):
    os.write(1, ("\n" + json.dumps({"probe_check": answer}) + "\n").encode())


def driver():
    if sys.platform == "darwin":
        raise Refused("macOS has no driver for NVIDIA GPUs")
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as problem:
        raise Refused("the driver's library cannot be loaded: %s" % problem)
    state = cuda.cuInit(0)
    if state != 0:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(state, ctypes.byref(text))
        said = (text.value or b"unknown error").decode("utf-8", "replace")
        raise Refused("the driver cannot be started: error %d: %s" % (state, said))
    version, count = ctypes.c_int(0), ctypes.c_int(0)
    if cuda.cuDriverGetVersion(ctypes.byref(version)) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        raise Refused("the driver started, but does not say its version or its cards")
    said = "serves CUDA %d.%d; visible cards: %d" % (
        version.value // 1000, version.value % 1000 // 10, count.value)
    if count.value == 0:
        raise Refused(said)
    return said


def architecture_flags(torch):
    try:
        flags = torch._C._cuda_getArchFlags()
        return str(flags).split() if flags else []
    except Exception:
        return list(torch.cuda.get_arch_list())


def find_torch():
    try:
        import torch
    except ImportError as problem:
        if getattr(problem, "name", None) == "torch":
            raise Refused(
                "PyTorch is not installed for %s; name the program's Python after `check --`"
                % os.path.basename(sys.executable))
        raise Refused("PyTorch cannot be imported: %s" % problem)
    version = str(torch.__version__)
    built_for = getattr(torch.version, "cuda", None)
    hip = getattr(torch.version, "hip", None)
    names = ("torch", "transformers", "diffusers", "vllm", "numpy", "flash_attn")
    loaded = [(name, getattr(sys.modules.get(name), "__version__", None)) for name in names]
    try:
        flags = architecture_flags(torch)
    except Exception:
        flags = None
    tell(environment={
        "torch": version, "cuda": built_for, "arch_list": flags or None,
        "libraries": dict((name, str(text)) for name, text in loaded if text is not None)})
    if not built_for and not hip:
        raise Refused("PyTorch %s was built without CUDA" % version)
    return torch, "PyTorch %s, built for %s" % (
        version, "CUDA %s" % built_for if built_for else "ROCm %s" % hip)


def suits(flag, major, minor):
    """As NVIDIA states it: a binary runs on its own major version and an equal or higher minor
    one, a binary for one special architecture on that alone, PTX on everything later."""
    kind, _, text = flag.partition("_")
    digits = "".join(character for character in text if character.isdigit())
    if len(digits) < 2:
        return False
    own = (int(digits[:-1]), int(digits[-1]))
    if text.endswith("a"):
        return own == (major, minor)
    if kind == "compute" and not text.endswith("f"):
        return own <= (major, minor)
    return own[0] == major and own[1] <= minor


def each(torch, ask):
    count = torch.cuda.device_count()
    if count == 0:
        raise Refused("PyTorch sees no card")
    return "; ".join("card %d: %s" % (index, ask(torch, index)) for index in range(count))


def architectures(torch, index):
    flags = architecture_flags(torch)
    major, minor = torch.cuda.get_device_capability(index)
    said = "%d.%d, PyTorch holds %s" % (major, minor, " ".join(flags) or "nothing")
    if not any(suits(flag, major, minor) for flag in flags):
        raise Refused("card %d has compute capability %s: nothing for it" % (index, said))
    return "compute capability " + said


def context(torch, index):
    torch.cuda.set_device(index)
    torch.cuda.synchronize()
    return str(torch.cuda.get_device_name(index))


def allocation(torch, index):
    block = torch.empty(BLOCK_BYTES, dtype=torch.uint8, device="cuda:%d" % index)
    torch.cuda.synchronize()
    del block
    return "%d MiB" % (BLOCK_BYTES // 2**20)


def product(torch, index, kind):
    # whole numbers this small are exact in every type: any difference is an error
    left = [[float((3 * row + column) % 5 - 2) for column in range(SIZE)] for row in range(SIZE)]
    right = [[float((row + 2 * column) % 5 - 2) for column in range(SIZE)] for row in range(SIZE)]
    expected = [
        [sum(left[row][k] * right[k][column] for k in range(SIZE)) + left[row][column]
         for column in range(SIZE)]
        for row in range(SIZE)]
    device = "cuda:%d" % index
    one = torch.tensor(left, dtype=kind, device=device)
    other = torch.tensor(right, dtype=kind, device=device)
    # the product is a kernel of NVIDIA's library, the sum one of PyTorch's own
    found = (one @ other + one).float().cpu().tolist()
    if found != expected:
        raise Refused("card %d computed a wrong product" % index)
    on_cpu = torch.tensor(left) @ torch.tensor(right) + torch.tensor(left)
    if on_cpu.tolist() != found:
        raise Refused("card %d and the processor differ" % index)
    return "right"


def kernel(torch, index):
    return product(torch, index, torch.float32)


def bf16(torch, index):
    said = product(torch, index, torch.bfloat16)
    if getattr(torch.version, "hip", None):
        return said
    major, minor = torch.cuda.get_device_capability(index)
    if major < 8:
        raise Refused(
            "card %d has compute capability %d.%d: bfloat16 is emulated, which is slow and which "
            "some libraries refuse; it needs 8.0" % (index, major, minor))
    return said


def text_of(problem):
    return "%s: %s" % (type(problem).__name__, problem)


def ask(name, question):
    try:
        said = question()
        tell(name=name, passed=True, said=said)
        return True
    except Refused as problem:
        tell(name=name, passed=False, said=str(problem))
    except Unasked as problem:
        tell(name=name, passed=None, said=str(problem))
    except Exception as problem:
        tell(name=name, passed=False, said=text_of(problem))
    return False


def main():
    ask("driver", driver)
    held = []

    def torch_question():
        torch, said = find_torch()
        held.append(torch)
        return said

    rest = ("architectures", "context", "allocation", "kernel", "bf16")
    if not ask("torch", torch_question):
        for name in rest:
            tell(name=name, passed=None, said="not asked: there is no PyTorch with CUDA")
        return
    torch = held[0]
    started = []

    def fitting():
        if getattr(torch.version, "hip", None):
            raise Unasked("not asked: the rule is one for NVIDIA cards")
        try:
            torch.cuda.init()
            torch.cuda.device_count()
        except Exception as problem:
            raise Unasked("not asked: CUDA does not start (%s)" % text_of(problem))
        return each(torch, architectures)

    def starting():
        torch.cuda.init()
        said = each(torch, context)
        started.append(True)
        return said

    ask("architectures", fitting)
    ask("context", starting)
    for name, question in (("allocation", allocation), ("kernel", kernel), ("bf16", bf16)):
        if started:
            ask(name, lambda: each(torch, question))
        else:
            tell(name=name, passed=None, said="not asked: CUDA does not start")


main()
'''


class Answer(NamedTuple):
    """One question's answer; `passed` is None if it could not be asked, and `said` why."""

    name: str
    passed: Optional[bool]
    said: str


class Asked(NamedTuple):
    """All answers, and what the Python that was asked said about its PyTorch."""

    answers: List[Answer]
    environment: Optional[Dict[str, Any]]


def check(
    write: Callable[[str, Dict[str, Any]], None],
    out: Callable[[str], None],
    python: Optional[str] = None,
    timeout_s: float = TIMEOUT_S,
) -> int:
    """Ask the questions in a process of a Python (default: `python3` on `PATH`).

    Writes a `check` record for each, and an `environment` record if there is a PyTorch; says both
    in lines for a terminal. 0 if all passed, 1 otherwise.
    """
    asked = ask(python, timeout_s)
    if asked.environment is not None:
        write("environment", asked.environment)
    for answer in asked.answers:
        write("check", answer._asdict())
        _say(out, answer)
    passed = all(answer.passed for answer in asked.answers)
    for line in textwrap.wrap(_verdict(asked.answers), COLUMNS):
        out(line)
    return 0 if passed else 1


def ask(python: Optional[str] = None, timeout_s: float = TIMEOUT_S) -> Asked:
    """Ask all questions; one that ends or stops the process is answered with that."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        try:
            child = subprocess.Popen(
                [python or _default_python(), "-c", PROGRAM],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=complaints,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as problem:
            why = "not asked: {} cannot be started ({})".format(
                _shown(python or _default_python()), problem.strerror
            )
            return Asked([Answer(name, None, why) for name in QUESTIONS], None)
        ending = _await(child, timeout_s)
        answers, environment = _read(output)
        return Asked(_complete(answers, ending, _last_line(complaints)), environment)


def _default_python() -> str:
    import shutil

    return shutil.which("python3") or sys.executable


def _environment() -> Dict[str, str]:
    from . import hello, session

    # neither the hook nor the attempt around this process is meant for the questions
    kept = {name: text for name, text in os.environ.items() if name not in session.VARIABLES}
    return {**kept, **hello.without_hook(kept)}


def _await(child: "subprocess.Popen[bytes]", timeout_s: float) -> Optional[str]:
    """How the process ended, if not well."""
    try:
        code = child.wait(timeout_s)
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as problem:
        try:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait(GONE_S)
        except (OSError, subprocess.TimeoutExpired):
            pass
        if isinstance(problem, KeyboardInterrupt):
            raise
        return "no answer within {:g} s".format(timeout_s)
    if code == 0:
        return None
    if code > 0:
        return "the process ended with exit code {}".format(code)
    try:
        return "the process was killed by {}".format(signal.Signals(-code).name)
    except ValueError:
        return "the process was killed by signal {}".format(-code)


def _read(output: Any) -> "Tuple[Dict[str, Answer], Optional[Dict[str, Any]]]":
    output.seek(0)
    answers: Dict[str, Answer] = {}
    environment = None
    for line in output:
        # libraries print what they like in between
        try:
            said = json.loads(line)["probe_check"]
        except (ValueError, TypeError, KeyError):
            continue
        if "environment" in said:
            environment = said["environment"]
        elif said["name"] in QUESTIONS:
            text = clean(" ".join(str(said["said"]).split()))[:SAID_CHARACTERS]
            answers[said["name"]] = Answer(said["name"], said["passed"], text)
    return answers, environment


def _complete(answers: Dict[str, Answer], ending: Optional[str], complaint: str) -> List[Answer]:
    """The answers in order: the first that is missing is what ended the process."""
    ended = ending or "the process ended without an answer"
    complete = []
    missing = False
    for name in QUESTIONS:
        answer = answers.get(name)
        if answer is None and not missing:
            missing = True
            said = "{}{}".format(ended, ": " + complaint if complaint else "")
            # a Python that answered nothing at all is none, or not one that can be asked
            answer = Answer(name, False if answers else None, said[:SAID_CHARACTERS])
        complete.append(answer or Answer(name, None, "not asked: {}".format(ended)))
    return complete


def _last_line(complaints: Any) -> str:
    complaints.seek(0, os.SEEK_END)
    complaints.seek(max(0, complaints.tell() - 8 * SAID_CHARACTERS))
    lines = complaints.read().decode("utf-8", "replace").strip().split("\n")
    return clean(lines[-1].strip())[:SAID_CHARACTERS]


def _say(out: Callable[[str], None], answer: Answer) -> None:
    first = "{:<15}{:<5}".format(answer.name, WORDS[answer.passed])
    for line in textwrap.wrap(
        answer.said, COLUMNS, initial_indent=first, subsequent_indent=" " * len(first)
    ) or [first]:
        out(line)
    found = causes.find(answer.said) if answer.passed is False else None
    cause = causes.by_id(found.cause_id) if found else None
    if cause is not None:
        indent = " " * len(first)
        text = "{}. {}".format(cause.title, cause.advice)
        for line in textwrap.wrap(text, COLUMNS, initial_indent=indent, subsequent_indent=indent):
            out(line)


def _verdict(answers: List[Answer]) -> str:
    if all(answer.passed for answer in answers):
        return "CUDA works here."
    failed = [answer.name for answer in answers if answer.passed is False]
    unasked = [answer.name for answer in answers if answer.passed is None]
    parts = []
    if failed:
        parts.append("failed: {}".format(", ".join(failed)))
    if unasked:
        parts.append("could not be asked: {}".format(", ".join(unasked)))
    return "CUDA does not work here as far as could be asked ({}).".format("; ".join(parts))


def _shown(python: str) -> str:
    return clean(os.path.basename(python) if os.path.isabs(python) else python)
