from budget.ui import page

view = page.start("measurements")
