"""Prices somebody verified, which of them may be used, and what to ask for the others."""

from budget.ui import owning_form, page, quotes

view = page.start("quotes")
if not quotes.guard(view):
    quotes.cards(view)
quotes.entry_form(view)
owning_form.draw(view)
quotes.questions(view)
