"""Writes ``budget/locale/messages.pot``, the template every translation starts from.

Run ``python tests/message_catalogue.py`` after changing a text.
"""

from __future__ import annotations

import ast
import io
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "budget" / "locale" / "messages.pot"
ARGUMENTS: dict[str, tuple[int, ...]] = {
    "msg": (0,),
    "t": (0,),
    "T": (0,),
    "translate": (0,),  # wording
    "_threshold": (1,),  # project: (unit, source)
    "_problem": (1, 2),  # yamltext: (event, what, do_next)
    "_refused": (1, 2),  # yamltext: (where, what, do_next)
}
"""Which arguments of which functions are texts. Read from the syntax tree, because a tokenizer of
Python 3.11 does not see into an f-string."""
FOLDERS = ("budget", "pages")


def texts() -> dict[str, list[str]]:
    """Return every text of the sources and the files it stands in."""
    found: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                for text in _marked(node):
                    files = found.setdefault(text, [])
                    if name not in files:
                        files.append(name)
    return found


def _marked(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.Call):
        return []
    called = node.func
    name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", None)
    given = [node.args[i] for i in ARGUMENTS.get(name, ()) if i < len(node.args)]
    return [
        item.value
        for argument in given
        for item in ast.walk(argument)
        if isinstance(item, ast.Constant) and isinstance(item.value, str) and item.value
    ]


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
