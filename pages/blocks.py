"""The plan in tables, and what each block takes by what was measured."""

from budget.ui import block_tables, blocks, page

view = page.start("blocks")
if not blocks.guard(view):
    block_tables.draw(view)
    blocks.estimates(view)
