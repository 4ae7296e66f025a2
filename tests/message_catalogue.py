"""Writes ``budget/locale/messages.pot``, the template every translation starts from.

Run ``python tests/message_catalogue.py`` after changing a text.
"""

from __future__ import annotations

import io
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import write_po

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "budget" / "locale" / "messages.pot"
KEYWORDS = {
    "msg": None,
    "t": None,
    "_problem": (2, 3),  # yamltext: (event, what, do_next)
    "_refused": (2, 3),  # yamltext: (where, what, do_next)
}
FOLDERS = ("budget", "pages")


def texts() -> dict[str, list[str]]:
    """Return every text of the sources and the files it stands in."""
    found: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            with path.open("rb") as source:
                for _, message, _, _ in extract("python", source, keywords=KEYWORDS):
                    for text in message if isinstance(message, tuple) else (message,):
                        if isinstance(text, str) and text:
                            files = found.setdefault(text, [])
                            if name not in files:
                                files.append(name)
    return found


def template() -> str:
    """Return the template's text; no line numbers, so that it changes only with the texts."""
    catalogue = Catalog(project="compute-budget", charset="utf-8")
    for text, files in sorted(texts().items()):
        catalogue.add(text, locations=[(name, None) for name in files])
    buffer = io.BytesIO()
    write_po(buffer, catalogue, omit_header=True, width=100, sort_output=True)
    return 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n' \
        + buffer.getvalue().decode("utf-8")  # fmt: skip


if __name__ == "__main__":
    TEMPLATE.write_text(template(), encoding="utf-8")
