"""Real sentences of libraries and of the system have the cause that the table gives them."""

from __future__ import annotations

import re
import time

import pytest

from budget.probe import causes
from tests.probe.desk import ROOT

# as the programs print them; the first ones are the rows of CUDA's error texts
SENTENCES: list[tuple[str, str]] = [
    (
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current "
        "PyTorch installation.\nThe current PyTorch install supports CUDA capabilities sm_50 sm_60",
        "architecture-missing",
    ),
    (
        "CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors "
        "might be asynchronously reported at some other API call",
        "kernel-image-missing",
    ),
    (
        "The NVIDIA driver on your system is too old (found version 11040). Please update",
        "driver-too-old",
    ),
    (
        "cuda runtime error (35) : CUDA driver version is insufficient for CUDA runtime version",
        "driver-too-old",
    ),
    (
        "/lib/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: "
        "_ZN3c104cuda9SetDeviceEi",
        "abi-mismatch",
    ),
    (
        "flash_attn_2_cuda.so: undefined symbol: "
        "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcEE",
        "abi-mismatch",
    ),
    ("RuntimeError: FlashAttention only supports Ampere GPUs or newer.", "flash-attention-gpu"),
    (
        "The operator 'aten::_linalg_solve_ex.result' is not currently implemented for the MPS "
        "device. If you want this op to be added",
        "mps-operator",
    ),
    ("TypeError: BFloat16 is not supported on MPS", "mps-bfloat16"),
    ("RuntimeError: MPS BFloat16 is only supported on MacOS 14 or newer", "mps-bfloat16"),
    ("AssertionError: Torch not compiled with CUDA enabled", "pytorch-without-cuda"),
    (
        "UserWarning: The installed version of bitsandbytes was compiled without GPU support. "
        "8-bit optimizers and GPU quantization are unavailable.",
        "bitsandbytes-without-gpu",
    ),
    (
        "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install "
        "root.",
        "cuda-compiler-missing",
    ),
    (
        "RuntimeError: flash_attn was requested, but nvcc was not found.  Are you sure your "
        "environment has nvcc available?",
        "cuda-compiler-missing",
    ),
    (
        "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required "
        "by flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so)",
        "glibc-too-old",
    ),
    (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. "
        "Your Tesla V100-SXM2-32GB GPU has compute capability 7.0.",
        "bfloat16-gpu",
    ),
    (
        "The detected CUDA version (11.8) mismatches the version that was used to compile\n"
        "PyTorch (12.4). Please make sure to use the same CUDA versions.",
        "toolkit-mismatch",
    ),
    (
        "Found GPU0 Tesla V100 which is of compute capability (CC) 7.0.\nThe following list shows "
        "the CCs this version of PyTorch was built for and the hardware CCs it supports:",
        "architecture-missing",
    ),
    (
        "The detected CUDA version (11.8) mismatches the version that was used to compile "
        "PyTorch (12.4). Please make sure to use the same CUDA versions.",
        "toolkit-mismatch",
    ),
    (
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        "ptx-too-new",
    ),
    (
        "ERROR: Could not find a version that satisfies the requirement torch==2.0.1+cu118 (from "
        "versions: 2.2.0, 2.2.1, 2.3.0)\nERROR: No matching distribution found for "
        "torch==2.0.1+cu118",
        "package-version-missing",
    ),
    (
        "ERROR: Could not find a version that satisfies the requirement torch==2.0.1+cu117 (from "
        "versions: none)\nERROR: No matching distribution found for torch==2.0.1+cu117",
        "package-not-for-this-host",
    ),
    ("nvcc fatal   : Unsupported gpu architecture 'compute_120'", "toolkit-architecture"),
    ("ptxas /tmp/x.ptx, line 12; error: Feature '.bf16' requires .target sm_80 or higher",
     "bfloat16-gpu"),
    (
        "ERROR: Could not find a version that satisfies the requirement triton (from versions: "
        "none)\nERROR: No matching distribution found for triton",
        "triton-package-missing",
    ),
    (
        "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
        "    PyTorch 2.3.0+cu121 with CUDA 1201 (you have 2.1.0+cu121)",
        "xformers-mismatch",
    ),
    (
        "NotImplementedError: No operator found for `memory_efficient_attention_forward` with "
        "inputs:",
        "xformers-mismatch",
    ),
    (
        "ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version "
        "libnvJitLink.so.12",
        "library-shadowed",
    ),
    (
        "CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 804: forward "
        "compatibility was attempted on non supported HW",
        "forward-compatibility",
    ),
    ("cudaGetDeviceCount() Error 802: system not yet initialized", "fabric-not-ready"),
    (
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
        "cuda-library-missing",
    ),
    (
        "  error: subprocess-exited-with-error\n  × Getting requirements to build wheel did not "
        "run successfully.\n      ModuleNotFoundError: No module named 'torch'",
        "build-before-torch",
    ),
    ("RuntimeError: PassManager::run failed", "triton-gpu"),
    ("Failed to initialize NVML: Driver/library version mismatch", "driver-library-mismatch"),
    ("RuntimeError: No CUDA GPUs are available", "gpu-missing"),
    (
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "gpu-missing",
    ),
    ("ImportError: libstdc++.so.6: version `GLIBCXX_3.4.29' not found", "cpp-library-too-old"),
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 79.11 GiB of which 1.17 GiB is free.",
        "gpu-out-of-memory",
    ),
    ("RuntimeError: CUDA error: out of memory", "gpu-out-of-memory"),
    (
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
        "`cublasCreate(handle)`",
        "gpu-out-of-memory",
    ),
    ("torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate", "gpu-out-of-memory"),
    (
        "RuntimeError: MPS backend out of memory (MPS allocated: 17.00 GB, other allocations: "
        "1.00 GB, max allowed: 18.13 GB).",
        "gpu-out-of-memory",
    ),
    ("[rank1]: MemoryError", "host-out-of-memory"),
    (
        "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  "
        "std::bad_alloc",
        "host-out-of-memory",
    ),
    (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't "
        "allocate memory: you tried to allocate 40000000000 bytes. Error code 12",
        "host-out-of-memory",
    ),
    ("OSError: [Errno 12] Cannot allocate memory", "host-out-of-memory"),
    ("killed by the system's out-of-memory killer (SIGKILL)", "host-memory-killer"),
    (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4242.0. Some of the step tasks "
        "have been OOM Killed.",
        "host-memory-killer",
    ),
    ("Out of memory: Killed process 4242 (python) total-vm:66055228kB", "host-memory-killer"),
    ("run.sh: line 3: 4242 Killed                  python eval.py", "killed"),
    ("slurmstepd: error: *** JOB 7 CANCELLED AT 2026-12-01 DUE TO TIME LIMIT ***", "timed-out"),
    (
        "OSError: meta-lama/Llama-3-8B is not a local folder and is not a valid model identifier "
        "listed on 'https://huggingface.co/models'\nIf this is a private repository, make sure to "
        "pass a token having permission to this repo",
        "weights-missing",
    ),
    (
        "401 Client Error. (Request ID: Root=1-65)\n\nRepository Not Found for url: "
        "https://huggingface.co/api/models/a/b.\nIf you are trying to access a private or gated "
        "repo, make sure you are authenticated.",
        "weights-missing",
    ),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: 'weights/model.safetensors'",
        "weights-missing",
    ),
    (
        "OSError: Error no file named model.safetensors found in directory weights.",
        "weights-missing",
    ),
    (
        "403 Client Error.\nCannot access gated repo for url https://huggingface.co/meta-llama/x.\n"
        "Access to model meta-llama/x is restricted and you are not in the authorized list.",
        "gated-repository",
    ),
    ("RuntimeError: PytorchStreamReader failed reading zip archive", "weights-damaged"),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'data/test.jsonl'", "data-missing"),
    (
        "DatasetNotFoundError: Dataset 'a/b' doesn't exist on the Hub or cannot be accessed.",
        "data-missing",
    ),
    (
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', "
        "port=443): Max retries exceeded with url: /a (Caused by NameResolutionError)",
        "download-connection",
    ),
    (
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't "
        "find them in the cached files.",
        "download-connection",
    ),
    (
        "HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /a "
        "(Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] "
        "certificate verify failed')))",
        "certificate-refused",
    ),
    (
        "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://x.org/a",
        "download-refused",
    ),
    ("urllib.error.HTTPError: HTTP Error 403: Forbidden", "download-refused"),
    ("urllib.error.HTTPError: HTTP Error 404: Not Found", "download-not-found"),
    ("OSError: [Errno 122] Disk quota exceeded: 'cache/model.bin'", "disk-quota"),
    ("OSError: [Errno 28] No space left on device", "disk-full"),
    (
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible "
        "that dataloader's workers are out of shared memory.\nUnexpected bus error encountered in "
        "worker. This might be caused by insufficient shared memory (shm).",
        "shared-memory-full",
    ),
    ("ModuleNotFoundError: No module named 'flash_attn'", "dependency-missing"),
    (
        "ImportError: This modeling file requires the following packages that were not found in "
        "your environment: einops. Run `pip install einops`",
        "dependency-missing",
    ),
    (
        "ImportError: cannot import name 'DynamicCache' from 'transformers.cache_utils'",
        "import-failed",
    ),
    ("ImportError: libGL.so.1: cannot open shared object file: No such file", "library-missing"),
    ("bash: line 1: nvtop: command not found", "command-not-found"),
    ("cannot start python4: No such file or directory", "command-not-found"),
    ("cannot start ./run: Exec format error", "wrong-binary"),
    ("cannot start ./run.sh: Permission denied", "permission-denied"),
    ("PermissionError: [Errno 13] Permission denied: 'out'", "permission-denied"),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'prompts/a.yaml'", "file-missing"),
    ("RuntimeError: CUDA error: device-side assert triggered", "gpu-program-fault"),
    ("Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost", "gpu-lost"),
    ("Segmentation fault (core dumped)", "crashed"),
    ("killed by SIGSEGV", "crashed"),
    ("killed by SIGILL", "illegal-instruction"),
    (
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7) ran for "
        "600000 milliseconds",
        "collective-timeout",
    ),
    ("OfflineModeIsEnabled: Cannot reach https://huggingface.co: offline mode is enabled.",
     "download-offline"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_a_real_sentence_has_its_cause(text: str, expected: str) -> None:
    found = causes.find(text)
    assert (found.cause_id if found else None) == expected


def test_every_cause_of_the_table_has_a_sentence_here() -> None:
    assert {cause.id for cause in causes.CAUSES} == {expected for _, expected in SENTENCES}


@pytest.mark.parametrize(
    ("kind", "text", "expected", "line"),
    [
        ("MemoryError", "", "host-out-of-memory", "MemoryError"),
        ("OutOfMemoryError", "Allocation on device", "gpu-out-of-memory", "Allocation on device"),
        ("killed", "killed by SIGKILL", "killed", "killed by SIGKILL"),
        ("killed", "killed by SIGABRT", "crashed", "killed by SIGABRT"),
        ("timed-out", "the time limit of 60 s passed", "timed-out", None),
        ("ImportError", "a is too old for b", "import-failed", "a is too old for b"),
        # the text says more than the class
        ("ImportError", "x.so: undefined symbol: _ZN2at", "abi-mismatch", None),
        ("OutOfMemoryError", "Task was killed due to the node running low on memory",
         "host-memory-killer", None),
    ],
)  # fmt: skip
def test_the_class_of_an_exception_decides_where_the_text_does_not(
    kind: str, text: str, expected: str, line: str | None
) -> None:
    found = causes.find(text, kind)
    assert found is not None
    assert found.cause_id == expected
    assert line is None or found.line == line


@pytest.mark.parametrize(
    ("text", "expected", "line"),
    [
        # the extension's symbol is the reason of the import that fails after it
        (
            "a.so: undefined symbol: _ZN3c104cuda9SetDeviceEi\n"
            "ImportError: cannot import name 'flash_attn_func' from 'flash_attn'",
            "abi-mismatch",
            "a.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
        ),
        # PyTorch's own warning tells which of the two causes of the missing kernel it is
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
            "CUDA capability sm_120 is not compatible with the current PyTorch installation.",
            "architecture-missing",
            "CUDA capability sm_120 is not compatible with the current PyTorch installation.",
        ),
        # a full disk, and the download that broke off for it
        (
            "requests.exceptions.ConnectionError: Connection broken: OSError(28)\n"
            "OSError: [Errno 28] No space left on device",
            "disk-full",
            "OSError: [Errno 28] No space left on device",
        ),
        (
            "ModuleNotFoundError: No module named 'torch'\nPermission denied",
            "dependency-missing",
            "ModuleNotFoundError: No module named 'torch'",
        ),
    ],
)
def test_of_two_causes_in_one_text_the_first_of_the_table_is_named(
    text: str, expected: str, line: str
) -> None:
    assert causes.find(text) == causes.Found(expected, line)
    reordered = "\n".join(reversed(text.split("\n")))
    assert causes.find(reordered) == causes.Found(expected, line)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "peak memory: 12.4 GB, out of 80 GB",
        "Killed 3 stale workers before the start",
        "the process was killed by its owner in an earlier run",
        "    except MemoryError as problem:",
        "    except torch.cuda.OutOfMemoryError:",
        "MemoryError handling is switched on",
        "CUDA capability sm_90 found; PyTorch installation complete",
        "memory timeout permission import module download",
        "loaded libcudart.so.12",
        "accuracy 71.2, time limit not reached",
        "Access to model weights: ok",
    ],
)
def test_an_ordinary_print_has_no_cause(text: str) -> None:
    assert causes.find(text) is None


def test_parts_of_a_sign_on_two_lines_are_no_sign() -> None:
    assert causes.find("CUDA capability sm_90\nis not compatible with the current PyTorch "
                       "installation") is None  # fmt: skip


def test_the_line_that_decides_is_cleaned_and_cut() -> None:
    text = "token=abcdef123456 " + "x" * 1000 + " CUDA out of memory. Tried " + "y" * 1000
    found = causes.find(text)
    assert found is not None
    assert found.line.startswith("CUDA out of memory. Tried yyy")
    assert len(found.line) == 300
    short = causes.find("--token=abcdef123456 at https://a:b@c.d/e: CUDA out of memory")
    assert short == causes.Found(
        "gpu-out-of-memory", "--token=*** at https://***@c.d/e: CUDA out of memory"
    )


def test_a_progress_bar_does_not_belong_to_the_line() -> None:
    found = causes.find(
        "50%|#####     |\r60%|######    |\rOSError: [Errno 28] No space left on device"
    )
    assert found == causes.Found("disk-full", "OSError: [Errno 28] No space left on device")


def test_a_character_that_becomes_two_in_lower_case_moves_nothing() -> None:
    found = causes.find("İ" * 10 + "\nRuntimeError: CUDA error: out of memory\nrest")
    assert found is not None
    assert found.line.lower() == "runtimeerror: cuda error: out of memory"


def test_both_ends_of_a_long_text_are_searched() -> None:
    filler = "an ordinary line\n" * 300_000  # 5.1 MB
    assert causes.find("No space left on device\n" + filler) is not None
    assert causes.find(filler + "No space left on device") is not None


@pytest.mark.parametrize(
    "unit",
    [
        "an ordinary line of memory, killed\n",
        # first words of patterns again and again, without a line end and with
        "libcudart version ` no operator found for access to model ",
        "libcudart\ncannot start\nunable to allocate\n",
        "undefined ",
    ],
)
def test_the_cost_of_a_long_text_does_not_grow_faster_than_the_text(unit: str) -> None:
    def cost_s(characters: int) -> float:
        text = unit * (characters // len(unit))
        tries = []
        for _ in range(3):
            began = time.perf_counter()
            assert causes.find(text) is None
            tries.append(time.perf_counter() - began)
        return min(tries)

    # 50 times the text, far below 50 times the cost: only its ends are searched
    assert cost_s(5_000_000) < 50 * max(cost_s(100_000), 0.001)


def test_ids_are_unique_and_in_kebab_case_and_found_by_id() -> None:
    ids = [cause.id for cause in causes.CAUSES]
    assert len(set(ids)) == len(ids)
    for name in ids:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        cause = causes.by_id(name)
        assert cause is not None
        assert cause.id == name
    assert causes.by_id("unheard-of") is None


def test_patterns_are_written_in_lower_case_or_they_would_never_fit() -> None:
    for cause in causes.CAUSES:
        for pattern in (*cause.patterns, *cause.besides):
            assert pattern == pattern.lower(), cause.id
        assert cause.advice.endswith("."), cause.id
        assert not cause.title.endswith("."), cause.id


def test_the_table_in_the_documentation_is_this_one() -> None:
    text = (ROOT / "budget" / "probe" / "LOG.md").read_text(encoding="utf-8")
    held = text.split("<!-- causes -->")[1].split("<!-- /causes -->")[0]
    assert held.strip() == causes.table()
