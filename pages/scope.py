"""What will be reproduced, by when, and what it needs; what the logs show beside it."""

from budget.ui import page, scope, takeaway

view = page.start("scope")
scope.introduction(view)
scope.form(view)
takeaway.document(view)
