"""Which code ran: the commit of the working folder and what differs from it."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import Any, Dict, List

from .secrets import clean

# Untracked files that can change what a run does. A result or a log that one run leaves behind
# must not make the next run another code version, so other untracked files do not count.
CODE_SUFFIXES = (
    ".py",
    ".pyx",
    ".c",
    ".cc",
    ".cpp",
    ".cu",
    ".cuh",
    ".h",
    ".hpp",
    ".rs",
    ".sh",
)

TIMEOUT_S = 30.0
CHUNK_BYTES = 2**20


class NoVersion(Exception):
    """The code version cannot be told; the text says why."""


def code_version() -> Dict[str, Any]:
    """`commit`, `dirty` and `diff_hash` of the current folder, or None in each and a `why`.

    `diff_hash` is the SHA-256 of the difference from the commit followed by the name and the
    content of every untracked source file; None for a clean tree.
    """
    try:
        top = _git("rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").rstrip("\n")
        commit = _commit()
        diff = _git("diff", "HEAD", "--binary", "--no-color", "--no-ext-diff", "--no-textconv")
        untracked = _untracked(top)
    except NoVersion as reason:
        return {"commit": None, "dirty": None, "diff_hash": None, "why": str(reason)}
    dirty = bool(diff or untracked)
    return {
        "commit": commit,
        "dirty": dirty,
        "diff_hash": _hash(diff, untracked, top) if dirty else None,
        "why": None,
    }


def _commit() -> str:
    try:
        return _git("rev-parse", "--verify", "HEAD").decode("ascii").strip()
    except NoVersion:
        raise NoVersion("the git repository has no commit") from None


def _untracked(top: str) -> List[bytes]:
    listed = _git("-C", top, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
    suffixes = tuple(suffix.encode() for suffix in CODE_SUFFIXES)
    return sorted(name for name in listed if name.endswith(suffixes))


def _hash(diff: bytes, untracked: List[bytes], top: str) -> str:
    digest = hashlib.sha256(diff)
    for name in untracked:
        digest.update(b"\0" + name + b"\0")
        try:
            with open(os.path.join(os.fsencode(top), name), "rb") as file:
                for chunk in iter(lambda: file.read(CHUNK_BYTES), b""):
                    digest.update(chunk)
        except OSError:
            digest.update(b"unreadable")
    return digest.hexdigest()


def _git(*arguments: str) -> bytes:
    # a lock or a user's settings must neither disturb the repository nor change the answer
    environment = dict(os.environ, GIT_OPTIONAL_LOCKS="0", LC_ALL="C")
    settings = ["-c", "core.quotepath=off", "-c", "diff.noprefix=false", "-c", "core.fsmonitor="]
    try:
        done = subprocess.run(
            ["git", *settings, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        raise NoVersion("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise NoVersion("git did not answer within {:.0f} s".format(TIMEOUT_S)) from None
    except OSError as problem:
        raise NoVersion("git could not be started ({})".format(problem.strerror)) from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        if "not a git repository" in said:
            raise NoVersion("the current folder is not in a git repository")
        raise NoVersion(clean("git refused: {}".format(said))[:200])
    return done.stdout
