"""What a host is, as a text for the terminal."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

GIB = 2**30
WIDTH = 12

# As LOG.md says: only these two mean that the host has no card.
NO_CARD = ("nvidia-smi was not found", "macOS has no driver for NVIDIA GPUs")

JOBS = (
    ("slurm_job", "Slurm job"),
    ("slurm_partition", "partition"),
    ("slurm_end_time", "ends at (seconds since 1970)"),
    ("pbs_job", "PBS job"),
    ("lsf_job", "LSF job"),
    ("sge_job", "SGE task"),
)


def report(start: Dict[str, Any]) -> str:
    """A `session.start` record as lines; what it does not state is said to be unknown."""
    host = _object(start.get("host"))
    flags = host.get("cpu_flags")
    lines = [
        _line("System", ", ".join(_texts(host.get("os_release"), host.get("os"))) or None),
        _line("Processor", host.get("cpu")),
        _line("", _counted(host.get("cpu_count"), "logical processor")),
        _line("", _flags(flags)),
        _line("Memory", size(host.get("ram_bytes"))),
        _line("glibc", host.get("glibc"), _without_glibc(host)),
        _line("Python", host.get("python"), "the record does not state it"),
        *_cards(start),
        _line("Driver", start.get("driver") or _no_driver(start), _without_driver(start)),
        *_serves(start),
        _line("nvcc", start.get("nvcc"), "no CUDA compiler on PATH answered"),
        *_scheduler(start.get("scheduler")),
        _line("Boot", start.get("boot"), "the system does not tell one start from the next"),
    ]
    return "\n".join(lines)


def size(size_bytes: Any) -> Optional[str]:
    """A size in GiB with its bytes; None stays None."""
    if not _is_number(size_bytes):
        return None
    return "{:.2f} GiB ({} bytes)".format(size_bytes / GIB, size_bytes)


def _cards(start: Dict[str, Any]) -> List[str]:
    cards = start.get("gpus")
    if not isinstance(cards, list):
        return [_line("Cards", None, "the record does not state them")]
    if not cards:
        why = start.get("gpus_why")
        if why in NO_CARD:
            return [_line("Cards", "none: {}".format(why))]
        return [_line("Cards", None, why or "the record does not say why")]
    lines = [_line("Cards", "{} (read by {})".format(len(cards), start.get("gpus_read_by") or "?"))]
    for card in cards:
        lines += _card(_object(card))
    return lines


def _card(card: Dict[str, Any]) -> List[str]:
    index = card.get("index")
    name = card.get("name") or "name not known"
    lines = [_line("", "{}: {}".format("?" if index is None else index, name))]
    if card.get("unified"):
        memory = "shared with the host, and counted as the host's"
    else:
        memory = size(card.get("memory_bytes")) or "not known: the driver does not say"
    details = [
        ("memory", memory),
        ("compute capability", card.get("compute_capability") or "not known"),
        ("id", card.get("uuid") or "not known"),
        ("error correction", _switch(card.get("ecc"))),
        ("driver stays loaded", _switch(card.get("persistence"), ("yes", "no"))),
        ("cut into instances", _switch(card.get("mig"), ("yes", "no"))),
    ]
    lines += [_line("", "   {}: {}".format(*detail)) for detail in details]
    instances = card.get("mig_devices")
    for instance in instances if isinstance(instances, list) else []:
        lines.append(_line("", "   " + _instance(_object(instance))))
    if card.get("mig") and not instances:
        lines.append(_line("", "   no instance is visible here: ask for one, or create one"))
    return lines


def _instance(instance: Dict[str, Any]) -> str:
    return "instance {}: {}, {}, id {}".format(
        instance.get("index") or "?",
        instance.get("profile") or "profile not known",
        size(instance.get("memory_bytes")) or "memory not known",
        instance.get("uuid") or "not known",
    )


def _scheduler(job: Any) -> List[str]:
    if not isinstance(job, dict):
        return [_line("Batch job", "none")]
    known = ["{} {}".format(title, job[key]) for key, title in JOBS if job.get(key) is not None]
    return [_line("Batch job", ", ".join(known) or None, "its scheduler names nothing")]


def _line(title: str, text: Any, why: str = "the system does not say") -> str:
    shown = "not known: {}".format(why) if text is None or text == "" else str(text)
    return "{:<{}}{}".format(title, WIDTH, shown).rstrip()


def _flags(flags: Any) -> Optional[str]:
    if not isinstance(flags, list):
        return None
    if not flags:
        return "none of the instructions for inference that the probe looks for"
    return "with {}".format(" ".join(str(flag) for flag in flags))


def _serves(start: Dict[str, Any]) -> List[str]:
    if start.get("driver_cuda") is not None:
        return [_line("", "serves CUDA up to {}".format(start["driver_cuda"]))]
    if start.get("driver") is not None:
        return [_line("", "the newest CUDA that it serves is not known: the driver does not say")]
    return []


def _without_glibc(host: Dict[str, Any]) -> str:
    if str(host.get("os", "")).startswith("macos"):
        return "macOS has none"
    return "the C library is another one, or does not say"


def _no_driver(start: Dict[str, Any]) -> Optional[str]:
    return "none" if not start.get("gpus") and start.get("gpus_why") in NO_CARD else None


def _without_driver(start: Dict[str, Any]) -> str:
    why = start.get("gpus_why")
    return str(why) if why else "the driver does not say"


def _switch(value: Any, words: Tuple[str, str] = ("on", "off")) -> str:
    if value is None:
        return "not known"
    return words[0] if value else words[1]


def _counted(count: Any, noun: str) -> Optional[str]:
    if not _is_number(count):
        return None
    return "{} {}{}".format(count, noun, "" if count == 1 else "s")


def _texts(*values: Any) -> List[str]:
    return [str(value) for value in values if value]


def _object(value: Any) -> Dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
