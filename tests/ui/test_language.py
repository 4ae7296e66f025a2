"""Every text a person sees goes through the translation, and the template knows it."""

import re

import message_catalogue
import pytest

from budget.ui import page
from budget.wording import Wording

NAMES = tuple(page.PAGES)
WIDGETS = ("button", "text_input", "selectbox", "checkbox", "date_input", "number_input", "radio",
           "text_area", "multiselect", "toggle", "file_uploader", "tabs", "expander")  # fmt: skip
TEXTS = (
    "markdown",
    "caption",
    "header",
    "subheader",
    "title",
    "info",
    "success",
    "error",
    "warning",
)


def marked(text):
    """A translation that shows which part of the screen went through it."""
    return f"«{text}»"


def opened(app, name):
    app.run()
    if name != "decision":
        app.switch_page(f"pages/{name}.py").run()
    assert not app.exception
    return app


@pytest.mark.parametrize("name", NAMES)
def test_no_visible_text_of_a_page_bypasses_the_translation(app, monkeypatch, name):
    monkeypatch.setattr(page, "language", lambda: Wording(marked))
    opened(app, name)
    shown = [(kind, item.label) for kind in WIDGETS for item in app.get(kind)
             if getattr(item, "label", None)]  # fmt: skip
    shown += [(kind, str(item.value)) for kind in TEXTS for item in app.get(kind)]
    for frame in app.dataframe:
        if frame.proto.editing_mode:  # an editor's columns have headings of their own
            continue
        shown += [("column", str(column)) for column in frame.value.columns]
    data = data_words(app)
    bare = []
    for kind, text in shown:
        rest = text
        while "«" in rest:  # translated texts stand inside one another
            shorter = re.sub(r"«[^«»]*»", "", rest)
            if shorter == rest:
                break
            rest = shorter
        words = set(re.findall(r"[A-Za-z]{4,}", re.sub(r":[a-z_/0-9-]+[:\[]", " ", rest))) - data
        if words:
            bare.append((kind, text, sorted(words)))
    assert not bare


def data_words(app):
    """Words that are not translated: what people typed, what logs hold, what the probe advises.

    The probe explains errors in its own words, which its terminal shows too.
    """
    from budget.probe import causes
    from budget.ui import sample

    texts = sample.DOCUMENT.read_text(encoding="utf-8")
    texts += " ".join(path.read_text(encoding="utf-8") + path.name for path in sample.logs())
    texts += " ".join(f"{cause.title} {cause.advice}" for cause in causes.CAUSES)
    return set(re.findall(r"[A-Za-z]{4,}", texts)) | {"material"}


@pytest.mark.parametrize("name", NAMES)
def test_every_text_that_is_shown_stands_in_the_template(app, monkeypatch, name):
    asked = set()

    def record(text):
        asked.add(text)
        return text

    monkeypatch.setattr(page, "language", lambda: Wording(record))
    opened(app, name)
    assert sorted(asked - set(message_catalogue.texts()) - {""}) == []


def test_the_template_is_up_to_date():
    written = message_catalogue.TEMPLATE.read_text(encoding="utf-8")
    assert written == message_catalogue.template(), "run: python tests/message_catalogue.py"
