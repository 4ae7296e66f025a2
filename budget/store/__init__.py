"""Projects kept in a database: revisions of their document, and logs exactly as they came in.

SQLite by default, PostgreSQL by URL. A document is text here; what it says is not looked at.
"""

from budget.store.logs import MAX_LOG_BYTES
from budget.store.opening import default_url, open_store
from budget.store.records import Conflict, ProjectEntry, Revision, StoredLog, StoreProblem
from budget.store.store import Store

__all__ = [
    "MAX_LOG_BYTES",
    "Conflict",
    "ProjectEntry",
    "Revision",
    "Store",
    "StoreProblem",
    "StoredLog",
    "default_url",
    "open_store",
]
