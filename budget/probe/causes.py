"""What an error means, told from its text: the table of causes.

The texts are those that the libraries and the system really print; the explanations are ours.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

# Of a longer text only this much of its beginning and of its end is searched: a program that
# fails says so last.
HEAD_CHARACTERS = 64 * 2**10
TAIL_CHARACTERS = 256 * 2**10

LINE_CHARACTERS = 300
# How far around a sign its line is looked at: some libraries print a whole page as one line.
REACH_CHARACTERS = 2000
# How many places of a pattern's first words are looked at before the text is said not to fit.
TRIES = 100

DATA_ENDINGS = ("jsonl", "json", "csv", "tsv", "parquet", "arrow", "npy", "npz")

# What launchers put before each line of a process.
PREFIX = re.compile(r"\s*(?:\[[^\]\n]{1,40}\]:?|\d{1,6}:)?\s*")


class Cause(NamedTuple):
    """One kind of error: its public id, what it means, and what to do next.

    It is told by the class of an exception or the probe's own word for an end (`kinds`), or by a
    text in one line (`patterns`, in lower case): `…` stands for any text between, `^` and `$` for
    the ends of the line. If there are `besides`, one of them must be somewhere in the text too.
    """

    id: str
    title: str
    advice: str
    patterns: Tuple[str, ...]
    kinds: Tuple[str, ...] = ()
    besides: Tuple[str, ...] = ()


class Found(NamedTuple):
    """The cause of a text, and the cleaned line that says so, at most 300 characters."""

    cause_id: str
    line: str


# In order of priority: a text often holds several, and the first one below is what to look at
# first. What is special stands before what is general.
CAUSES: Tuple[Cause, ...] = (
    Cause(
        "architecture-missing",
        "This PyTorch holds no code for this card",
        "Install a build of PyTorch whose architectures cover the card's compute capability; "
        "`probe check` lists both.",
        (
            "cuda capability sm_…is not compatible with the current pytorch installation",
            "ccs this version of pytorch was built for",
        ),
    ),
    Cause(
        "kernel-image-missing",
        "Some library holds no code for this card",
        "Run `probe check`: if `architectures` fails, PyTorch must be exchanged; if it passes, an "
        "extension such as flash-attn must be built again for this card.",
        (
            "no kernel image is available for execution",
            "cudaerrornokernelimagefordevice",
            "cuda error: invalid device function",
        ),
    ),
    Cause(
        "forward-compatibility",
        "CUDA's compatibility library does not fit this card or driver",
        "On a consumer card, take the `cuda-compat` library out of `LD_LIBRARY_PATH` or use an "
        "image for the installed driver. On a data-centre card the driver and its library often "
        "differ after an update: start the host again.",
        ("forward compatibility was attempted on non supported hw",),
    ),
    Cause(
        "fabric-not-ready",
        "The links between the cards are not ready",
        "The host's owner must start NVIDIA's fabric manager, in the version of the driver.",
        ("system not yet initialized",),
    ),
    Cause(
        "driver-library-mismatch",
        "The loaded driver and its library differ in version",
        "The driver was updated while it ran: start the host again, or ask its owner to.",
        ("driver/library version mismatch",),
    ),
    Cause(
        "driver-too-old",
        "The driver is too old for the CUDA version in use",
        "Compare `driver` in `probe env` with what the CUDA major version needs (11: 450.80, "
        "12: 525.60, 13: 580.65). Install a build for an older CUDA, or take a host with a newer "
        "driver.",
        (
            "nvidia driver on your system is too old",
            "cuda driver version is insufficient for cuda runtime version",
            "cudaerrorinsufficientdriver",
        ),
    ),
    Cause(
        "ptx-too-new",
        "Code was made by a CUDA toolkit newer than the driver",
        "The card needs code translated at start, and the driver cannot read it: install a build "
        "for this card's architecture or for an older CUDA, or take a newer driver.",
        (
            "ptx was compiled with an unsupported toolchain",
            "cudaerrorunsupportedptxversion",
        ),
    ),
    Cause(
        "library-shadowed",
        "Another copy of a CUDA library is loaded before PyTorch's own",
        "Remove the folder of a CUDA toolkit from `LD_LIBRARY_PATH`, so that the libraries "
        "installed with PyTorch are found.",
        ("undefined symbol: __nvjitlink", "undefined symbol: __cublas", "undefined symbol: cublas"),
    ),
    Cause(
        "xformers-mismatch",
        "xFormers was built for another PyTorch, or has no code for this card or type",
        "Install the release of xFormers made for exactly this PyTorch. If they fit, the number "
        "type or the card is not served.",
        (
            "xformers can't load c++/cuda extensions",
            "xformers was built for",
            "no operator found for…memory_efficient_attention",
        ),
    ),
    Cause(
        "abi-mismatch",
        "An extension was built for another PyTorch",
        "Build the extension again, or install its wheel for this PyTorch, CUDA, Python and C++ "
        "ABI; changing PyTorch after it is the usual reason.",
        ("undefined symbol:", "symbol not found in flat namespace"),
    ),
    Cause(
        "gpu-missing",
        "No NVIDIA card or driver can be reached",
        "See `probe env`: without a card choose another host; in a container or a batch job ask "
        "for the card when starting it; see whether `CUDA_VISIBLE_DEVICES` hides it.",
        (
            "found no nvidia driver on your system",
            "no cuda gpus are available",
            "no cuda-capable device is detected",
            "libcuda.so…cannot open shared object file",
            "torch.cuda.is_available() is false",
        ),
    ),
    Cause(
        "cuda-library-missing",
        "A package was built for a CUDA version whose libraries are not installed",
        "Compare the number in the library's name with the CUDA version of PyTorch in `probe "
        "check`: install the package's build for that version. If the driver is too old for the "
        "number, a newer host is needed.",
        tuple(
            "{}…cannot open shared object file".format(name)
            for name in (
                "libcudart",
                "libcublas",
                "libcudnn",
                "libcufft",
                "libcurand",
                "libcusolver",
                "libcusparse",
                "libcupti",
                "libnvrtc",
                "libnvjitlink",
                "libnccl",
            )
        ),
    ),
    Cause(
        "glibc-too-old",
        "The host's C library is older than a package needs",
        "Install an older release of the package, build it on this host, or run in a container "
        "with a newer system.",
        ("version `glibc_…not found", "version 'glibc_…not found"),
    ),
    Cause(
        "cpp-library-too-old",
        "The C++ library is older than a package needs",
        "Install a newer `libstdc++` into the environment, and put it first on `LD_LIBRARY_PATH`.",
        ("version `glibcxx_…not found", "version `cxxabi_…not found"),
    ),
    Cause(
        "flash-attention-gpu",
        "FlashAttention does not serve this card",
        "Below compute capability 8.0 choose another attention implementation (`sdpa` or "
        "`eager`). From 10.0 on the installed flash-attn is too old for the card: update it.",
        ("flashattention only supports ampere gpus or newer",),
    ),
    Cause(
        "bfloat16-gpu",
        "This card does not compute in bfloat16",
        "It needs compute capability 8.0: use float16, if the paper's results allow it, or "
        "another card.",
        (
            "bfloat16 is only supported on gpus with compute capability",
            "feature '.bf16…requires .target sm_",
        ),
    ),
    Cause(
        "triton-gpu",
        "Triton cannot build a kernel for this card",
        "Triton needs compute capability 8.0: switch off what uses it, or take another card.",
        ("passmanager::run failed",),
    ),
    Cause(
        "mps-bfloat16",
        "This macOS does not compute in bfloat16 on its GPU",
        "Use float16 or float32, or macOS 14 or newer.",
        ("bfloat16 is not supported on mps", "mps bfloat16 is only supported on macos"),
    ),
    Cause(
        "mps-operator",
        "PyTorch has no such operation for Apple's GPU",
        "Set `PYTORCH_ENABLE_MPS_FALLBACK=1` to compute it on the processor, which is slower, or "
        "run on an NVIDIA card.",
        ("is not currently implemented for the mps device",),
    ),
    Cause(
        "pytorch-without-cuda",
        "This PyTorch was built without CUDA",
        "On Linux install PyTorch from the index for the driver's CUDA version. On macOS there is "
        "no CUDA: take a Linux host with an NVIDIA card.",
        ("torch not compiled with cuda enabled", "pytorch…was built without cuda"),
    ),
    Cause(
        "bitsandbytes-without-gpu",
        "bitsandbytes found no CUDA library that it fits",
        "Install a release of bitsandbytes for PyTorch's CUDA version; on macOS it does not use "
        "the GPU in most releases.",
        ("bitsandbytes was compiled without gpu support",),
    ),
    Cause(
        "toolkit-mismatch",
        "The CUDA compiler and PyTorch's CUDA differ in major version",
        "Put a CUDA toolkit of PyTorch's major version first on `PATH` and in `CUDA_HOME`, or "
        "install a PyTorch built for this toolkit.",
        ("the detected cuda version…mismatches the version that was used to compile",),
    ),
    Cause(
        "toolkit-architecture",
        "This CUDA compiler does not know the card's architecture",
        "It is too old for the card, or has dropped it: use a toolkit that serves it, or leave "
        "the architecture out of `TORCH_CUDA_ARCH_LIST`.",
        ("nvcc fatal…unsupported gpu architecture",),
    ),
    Cause(
        "cuda-compiler-missing",
        "Building needs the CUDA compiler, which was not found",
        "Install the CUDA toolkit of PyTorch's major version and set `CUDA_HOME`, or install a "
        "ready-made wheel.",
        (
            "cuda_home environment variable is not set",
            "please set the cuda_home or the cuda_path",
            "nvcc was not found",
            "nvcc: command not found",
            "nvcc: not found",
        ),
    ),
    Cause(
        "build-before-torch",
        "A package was built in an environment without PyTorch",
        "Install PyTorch first, then the package with `pip install --no-build-isolation`.",
        ("no module named 'torch'", 'no module named "torch"'),
        besides=(
            "getting requirements to build",
            "get_requires_for_build",
            "metadata-generation-failed",
            "subprocess-exited-with-error",
            "build dependencies",
            "flash-attn",
        ),
    ),
    Cause(
        "triton-package-missing",
        "There is no Triton package for this system and Python",
        "Triton has packages for Linux only, for some versions of Python: use such a host, or "
        "leave it out where it is optional.",
        ("no matching distribution found for triton",),
    ),
    Cause(
        "package-not-for-this-host",
        "A pinned package has no release for this Python or system",
        "Use the version of Python that the package was made for; if the system or processor is "
        "not served, another host is needed.",
        ("no matching distribution found for",),
        besides=("(from versions: none)",),
    ),
    Cause(
        "package-version-missing",
        "A pinned version of a package was not found",
        "A version such as `2.0.1+cu118` is not on PyPI: add PyTorch's own index for it with "
        "`--extra-index-url`. If it is not there either, it was never made: change the pin, and "
        "record that with `probe change`.",
        ("no matching distribution found for", "could not find a version that satisfies"),
    ),
    Cause(
        "host-memory-killer",
        "The system ended a process because the host's memory was used up",
        "Ask for more memory (`--mem` in Slurm, the limit of the container), or load with less: "
        "fewer worker processes, `low_cpu_mem_usage`, weights as safetensors.",
        (
            "out-of-memory killer",
            "out of memory: killed process",
            "oom-kill",
            "oom_kill event",
            "oom killed",
            "due to the node running low on memory",
        ),
    ),
    Cause(
        "gpu-out-of-memory",
        "The card's memory did not suffice",
        "Compare the peak in `probe summary` with the card. Lower the batch or the length, "
        "shorten the cache or choose a larger card; each changes what was measured.",
        (
            "cuda out of memory",
            "cuda error: out of memory",
            "cuda_error_out_of_memory",
            "cudaerrormemoryallocation",
            "cublas_status_alloc_failed",
            "cudnn_status_alloc_failed",
            "hip out of memory",
            "hip error: out of memory",
            "mps backend out of memory",
            "xpu out of memory",
            "resource_exhausted: out of memory",
            "no available memory for the cache blocks",
        ),
        ("OutOfMemoryError",),
    ),
    Cause(
        "shared-memory-full",
        "The memory that processes share is too small",
        "Give the container more (`--shm-size` or `--ipc=host`), or set the data loader's "
        "`num_workers` to 0.",
        (
            "insufficient shared memory (shm)",
            "unexpected bus error encountered in worker",
            "unable to write to file </torch_",
        ),
    ),
    Cause(
        "host-out-of-memory",
        "The host's memory did not suffice",
        "Compare the resident peak in `probe summary` with the host's memory, and ask for more, "
        "or load with less: weights as safetensors, straight onto the card.",
        (
            "std::bad_alloc",
            "defaultcpuallocator:…memory",
            "cannot allocate memory",
            "can't allocate memory",
            "unable to allocate…for an array with shape",
            "^memoryerror$",
            "^memoryerror:",
        ),
        ("MemoryError", "_ArrayMemoryError"),
    ),
    Cause(
        "disk-quota",
        "The disk space allowed to this account is used up",
        "Free space or ask for more; set `HF_HOME` and `TMPDIR` to a file system with room.",
        ("disk quota exceeded",),
    ),
    Cause(
        "disk-full",
        "The disk is full",
        "Free space, or set `HF_HOME` and `TMPDIR` to a disk with room; then see that files "
        "downloaded meanwhile are whole.",
        ("no space left on device", "not enough free disk space"),
    ),
    Cause(
        "gated-repository",
        "The weights or data are given out only to those who asked",
        "Accept the terms on the repository's page with your account, then set `HF_TOKEN` on "
        "this host.",
        (
            "cannot access gated repo",
            "you are trying to access a gated repo",
            "access to model…is restricted",
            "access to dataset…is restricted",
        ),
        ("GatedRepoError",),
    ),
    Cause(
        "certificate-refused",
        "A secure connection could not be made",
        "See the host's clock and its certificates; behind a proxy set `REQUESTS_CA_BUNDLE` to "
        "its certificate.",
        ("certificate verify failed", "sslcertverificationerror", "sslerror(", "[ssl: "),
        ("SSLError", "SSLCertVerificationError"),
    ),
    Cause(
        "download-offline",
        "A file is not on this host, and downloading is switched off",
        "Download it before the run, or unset `HF_HUB_OFFLINE`.",
        (
            "offline mode is enabled",
            "outgoing traffic has been disabled",
            "hf_hub_offline=1",
        ),
        ("OfflineModeIsEnabled",),
    ),
    Cause(
        "download-connection",
        "A connection failed or broke off",
        "See whether this host reaches the internet (many compute nodes do not) and which proxy "
        "it needs; download the files before the run.",
        (
            "couldn't connect to 'http",
            "couldn't reach 'http",
            "an error happened while trying to locate the file on the hub",
            "max retries exceeded with url",
            "failed to establish a new connection",
            "temporary failure in name resolution",
            "name or service not known",
            "nodename nor servname provided",
            "could not resolve host",
            "network is unreachable",
            "connection refused",
            "connection reset by peer",
            "connection aborted",
            "connection broken:",
            "remote end closed connection",
            "read timed out",
            "429 client error",
            "http error 429",
        ),
        ("ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "ConnectTimeout"),
    ),
    Cause(
        "weights-damaged",
        "A file of weights is not whole",
        "Compare its size with the source's and download it again; a few hundred bytes are a "
        "pointer of Git LFS: run `git lfs pull`.",
        (
            "pytorchstreamreader failed",
            "error while deserializing header",
            "headertoolarge",
            "unpicklingerror: invalid load key",
            "unable to load weights from pytorch checkpoint file",
        ),
        ("SafetensorError",),
    ),
    Cause(
        "weights-missing",
        "The weights or the tokenizer were not found",
        "See that the path exists on this host, or that the name is spelled as on the hub; a "
        "private repository needs `HF_TOKEN`.",
        (
            "is not a local folder and is not a valid model identifier",
            "is not a local folder or a valid repository name",
            "repository not found for url",
            "repo id must be in the form",
            "repo id must use alphanumeric",
            "incorrect path_or_model_id",
            "no file named…found in directory",
            "can't load tokenizer for",
            "can't load the model for",
            "can't load the configuration of",
            "does not appear to have a file named",
            "no such file or directory….safetensors",
            "no such file or directory….index.json'",
            "no such file or directory…config.json'",
            "no such file or directory…tokenizer.json'",
            "no such file or directory….bin'",
            "no such file or directory….pt'",
            "no such file or directory….pth'",
            "no such file or directory….ckpt'",
            "no such file or directory….gguf'",
            "file not found…safetensors",
        ),
        ("RepositoryNotFoundError",),
    ),
    Cause(
        "data-missing",
        "The data were not found",
        "See that the files are on this host and that the paths in the paper's configuration "
        "point to them.",
        (
            "doesn't exist on the hub or cannot be accessed",
            "couldn't find a dataset script",
            "couldn't find any data file",
            "no (supported) data files found",
            *("no such file or directory….{}'".format(ending) for ending in DATA_ENDINGS),
            *("unable to find '….{}'".format(ending) for ending in DATA_ENDINGS),
        ),
        ("DatasetNotFoundError", "DataFilesNotFoundError", "EmptyDatasetError"),
    ),
    Cause(
        "download-refused",
        "A server refused to give out a file",
        "It asks for an account or a permission: set the token it wants on this host (for the "
        "hub `HF_TOKEN`), or see whether the token still holds.",
        (
            "401 client error",
            "403 client error",
            "http error 401",
            "http error 403",
            "status code 401",
            "status code 403",
            "requested url returned error: 401",
            "requested url returned error: 403",
        ),
    ),
    Cause(
        "download-not-found",
        "A file is not, or no longer, where it was looked for",
        "See whether the name, the revision and the address are still right; the paper's "
        "repository may name a newer one.",
        (
            "404 client error",
            "http error 404",
            "status code 404",
            "requested url returned error: 404",
            "entry not found for url",
            "revision not found for url",
        ),
        ("EntryNotFoundError", "RevisionNotFoundError", "RemoteEntryNotFoundError"),
    ),
    Cause(
        "gpu-lost",
        "The driver lost the card, or the card its memory's correctness",
        "Nothing in the program causes this: stop using the card and tell the host's owner.",
        ("gpu is lost", "has fallen off the bus", "uncorrectable ecc error"),
    ),
    Cause(
        "gpu-program-fault",
        "A kernel on the card went wrong",
        "Often an index beyond a table, such as a token unknown to the model. Run again with "
        "`CUDA_LAUNCH_BLOCKING=1` to see which line starts the kernel.",
        (
            "device-side assert triggered",
            "an illegal memory access was encountered",
            "unspecified launch failure",
        ),
    ),
    Cause(
        "collective-timeout",
        "One rank waited too long for the others",
        "Look for the rank that failed first, in the errors of the other ranks.",
        ("watchdog caught collective operation timeout", "collective operation timeout:"),
    ),
    Cause(
        "command-not-found",
        "The command is not on this host",
        "See the spelling and `PATH`, and whether the environment that holds it is active.",
        (
            "cannot start…no such file or directory",
            "cannot start…not a directory",
            ": command not found",
            "sh: …: not found",
        ),
    ),
    Cause(
        "wrong-binary",
        "The command was made for another system or processor",
        "Install it for this one; a script needs a first line such as `#!/bin/sh`.",
        ("exec format error", "bad cpu type in executable"),
    ),
    Cause(
        "dependency-missing",
        "A package that the program needs is not installed",
        "Install it in the version that the paper's repository states, into the Python that runs "
        "the program, and record that with `probe change`.",
        (
            "no module named ",
            "requires the following packages that were not found",
            "library but it was not found in your environment",
        ),
        ("ModuleNotFoundError", "PackageNotFoundError"),
    ),
    Cause(
        "library-missing",
        "A library of the system is not installed",
        "Install the package of the system that holds it, or load its module.",
        ("cannot open shared object file", "^dyld…library not loaded"),
    ),
    Cause(
        "import-failed",
        "An installed package does not fit another",
        "Most often a version differs from the one the program was written for: install those "
        "that the paper's repository states.",
        ("cannot import name '", "dll load failed while importing"),
        ("ImportError",),
    ),
    Cause(
        "permission-denied",
        "The system denies access",
        "See who may read or execute the file, and write into a folder of your own.",
        ("permission denied", "[errno 1] operation not permitted", "operation not permitted$"),
        ("PermissionError",),
    ),
    Cause(
        "file-missing",
        "A file or folder was not found",
        "See that it is on this host and that the command starts in the folder from which its "
        "paths are counted.",
        ("no such file or directory",),
        ("FileNotFoundError",),
    ),
    Cause(
        "timed-out",
        "The time limit passed",
        "Raise the limit of the probe or of the batch job, or look where the program waits; the "
        "phases show how far it came.",
        ("the time limit of…passed", "due to time limit"),
        ("timed-out",),
    ),
    Cause(
        "illegal-instruction",
        "A library uses an instruction that this processor lacks",
        "Compare `cpu_flags` in `probe env` with what the library needs, and install a build for "
        "this processor.",
        ("killed by sigill", "illegal instruction (core dumped)", "error: illegal instruction"),
    ),
    Cause(
        "crashed",
        "Compiled code crashed",
        "Run again with `python -X faulthandler` to see where; libraries that do not fit each "
        "other are the usual reason.",
        (
            "killed by sigsegv",
            "killed by sigabrt",
            "killed by sigbus",
            "killed by sigfpe",
            "^segmentation fault",
            "error: segmentation fault",
            "segmentation fault (core dumped)",
        ),
    ),
    Cause(
        "killed",
        "Something outside the program ended it",
        "By SIGKILL it is mostly the limit of memory or time of the batch job or container: ask "
        "its log. Otherwise someone or a supervisor stopped it.",
        ("^killed$", ": line…killed   "),
        ("killed",),
    ),
)


def find(text: str, kind: str = "") -> Optional[Found]:
    """The cause of an error, or None if none fits.

    `text` is what was said, of any length; `kind` the class of the exception, or the probe's own
    `killed`, `timed-out` or `not-started`. Of a text above 320 KiB only the first 64 and the last
    256 are searched.
    """
    text = _searched(text)
    lowered = text.lower()
    # one character may become two, and then no place in one text is that place in the other
    shown = text if len(text) == len(lowered) else lowered
    for cause in CAUSES:
        place = _place(cause, lowered)
        if place is None and kind and kind in cause.kinds:
            place = _first_line(lowered)
        if place is not None:
            return Found(cause.id, _line(shown, place, kind))
    return None


def by_id(cause_id: str) -> Optional[Cause]:
    """The cause of an id, or None for one that this version does not know."""
    return next((cause for cause in CAUSES if cause.id == cause_id), None)


def table() -> str:
    """The causes as a table in Markdown, in order of priority."""
    rows = ["| cause | meaning | what to do |", "|---|---|---|"]
    rows += ["| {} | {} | {} |".format(one.id, one.title, one.advice) for one in CAUSES]
    return "\n".join(rows)


def _searched(text: str) -> str:
    if len(text) > HEAD_CHARACTERS + TAIL_CHARACTERS:
        text = text[:HEAD_CHARACTERS] + "\n" + text[-TAIL_CHARACTERS:]
    # a progress bar ends its line with a carriage return
    return text.replace("\r", "\n")


def _place(cause: Cause, lowered: str) -> Optional[int]:
    if cause.besides and not any(word in lowered for word in cause.besides):
        return None
    for pattern in cause.patterns:
        place = _match(pattern, lowered)
        if place is not None:
            return place
    return None


def _match(pattern: str, lowered: str) -> Optional[int]:
    """Where a pattern fits. No regular expression: the cost grows with the text's length alone."""
    at_start, at_end = pattern.startswith("^"), pattern.endswith("$")
    parts = pattern.strip("^$").split("…")
    place = -1
    for _ in range(TRIES):
        place = lowered.find(parts[0], place + 1)
        if place < 0:
            return None
        start, end = _bounds(lowered, place)
        if at_start and PREFIX.sub("", lowered[start:place], count=1):
            continue
        if _rest_fits(parts, lowered[place:end], at_end):
            return place
    return None


def _rest_fits(parts: List[str], line: str, at_end: bool) -> bool:
    reached = 0
    for part in parts:
        reached = line.find(part, reached)
        if reached < 0:
            return False
        reached += len(part)
    return not at_end or not line[reached:].strip()


def _bounds(text: str, place: int) -> Tuple[int, int]:
    start = max(text.rfind("\n", max(0, place - REACH_CHARACTERS), place) + 1, 0)
    end = text.find("\n", place, place + REACH_CHARACTERS)
    if start == 0:
        start = max(0, place - REACH_CHARACTERS)
    return start, end if end >= 0 else min(len(text), place + REACH_CHARACTERS)


def _first_line(text: str) -> int:
    return len(text) - len(text.lstrip())


def _line(text: str, place: int, kind: str) -> str:
    from .secrets import clean

    start, end = _bounds(text, place)
    # cleaned before it is cut: the name of a secret may stand before what is kept
    line = clean(text[start:end].strip())
    if not line:
        return kind
    if len(line) <= LINE_CHARACTERS:
        return line
    sign = clean(text[place:end].strip())[:LINE_CHARACTERS]
    return sign if place - start > LINE_CHARACTERS // 2 else line[:LINE_CHARACTERS]
