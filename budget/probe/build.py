"""Makes the one file that is copied to a host: a zip archive that Python runs."""

from __future__ import annotations

import contextlib
import io
import os
from typing import Dict

ROOT = "budget/probe/"
ENDINGS = (".py", ".md")

SHEBANG = b"#!/usr/bin/env python3\n"

# Every Python since 2.6 must be able to read this file, or the sentence is never said. Python
# compiles what it imports from an archive anew at each start, which takes longer than all else the
# probe does: the parts are unpacked once into the user's cache, where Python keeps them compiled.
MAIN = b'''"""The probe's entry; its parts, and LOG.md on its log, are in budget/probe."""

import os
import sys

if sys.version_info < (3, 8):
    sys.stderr.write(
        "compute-budget probe: this is Python %d.%d and the probe needs 3.8 or newer; start it "
        "with a newer one, such as: python3.8 probe.pyz. The measured command may use any.\\n"
        % sys.version_info[:2]
    )
    sys.exit(2)


def unpacked(archive):
    """The folder in the user's cache that holds this archive's parts; None if there can be none."""
    import zlib

    with open(archive, "rb") as file:
        content = file.read()
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    base = os.path.join(caches, "compute-budget-probe")
    target = os.path.join(base, "%08x-%d" % (zlib.crc32(content), len(content)))
    if not os.path.isdir(target):
        unpack(archive, base, target)
    state = os.stat(target)
    # code that another user could change is not run
    return target if state.st_uid == os.getuid() and not state.st_mode & 0o022 else None


def unpack(archive, base, target):
    """Fill the folder; another process never sees half of it."""
    import shutil
    import tempfile
    import zipfile

    held = os.path.abspath(base)
    while not os.path.isdir(held):
        held = os.path.dirname(held)
    if os.stat(held).st_uid != os.getuid():
        raise OSError("the cache is another user's")
    os.makedirs(base, 0o700, exist_ok=True)
    draft = tempfile.mkdtemp(dir=base)
    try:
        with zipfile.ZipFile(archive) as parts:
            parts.extractall(draft)
        os.rename(draft, target)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        if not os.path.isdir(target):
            raise


def program():
    """The probe's main function, from the cache if it can be used and else from the archive."""
    cached = None
    try:
        cached = unpacked(os.path.dirname(os.path.abspath(__file__)))
    except Exception:
        pass
    if cached:
        switched_off = sys.dont_write_bytecode
        sys.dont_write_bytecode = False
        sys.path.insert(0, cached)
        try:
            from budget.probe.cli import main

            return main
        except ImportError:
            sys.path.remove(cached)
            for name in [name for name in sys.modules if name.split(".")[0] == "budget"]:
                del sys.modules[name]
            sys.dont_write_bytecode = switched_off
    from budget.probe.cli import main

    return main


if __name__ == "__main__":
    sys.exit(program()())
'''

# The oldest moment that a zip archive can state: two builds of one source are equal.
TIMESTAMP = (1980, 1, 1, 0, 0, 0)
READABLE = 0o100644
EXECUTABLE = 0o755
UNIX = 3


def build(target: str) -> str:
    """Write the archive and return its path. Raises OSError; a file in its place is replaced."""
    content = archive()
    draft = "{}.{}.part".format(target, os.getpid())
    try:
        with open(draft, "wb") as file:
            file.write(content)
        os.chmod(draft, EXECUTABLE)
        os.replace(draft, target)
    finally:
        with contextlib.suppress(OSError):
            os.remove(draft)
    return target


def archive() -> bytes:
    """The archive's bytes: of the sources this module lies among, or of the archive it is in."""
    whole = getattr(globals().get("__loader__"), "archive", None)
    if whole is not None:
        with open(whole, "rb") as file:
            return file.read()
    return _packed({"__main__.py": MAIN, "budget/__init__.py": b"", **_sources()})


def _sources() -> Dict[str, bytes]:
    folder = os.path.dirname(os.path.abspath(__file__))
    sources = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._"]
        for name in names:
            if name.endswith(ENDINGS):
                path = os.path.join(place, name)
                with open(path, "rb") as file:
                    below = os.path.relpath(path, folder).replace(os.sep, "/")
                    sources[ROOT + below] = file.read()
    return sources


def _packed(contents: Dict[str, bytes]) -> bytes:
    import zipfile

    packed = io.BytesIO()
    packed.write(SHEBANG)
    with zipfile.ZipFile(packed, "a") as file:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, TIMESTAMP)
            entry.external_attr = READABLE << 16
            entry.create_system = UNIX
            file.writestr(entry, contents[name], zipfile.ZIP_STORED)
    return packed.getvalue()
