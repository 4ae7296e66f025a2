"""What two versions of a project say differently, by dotted paths with list items by their id."""

from __future__ import annotations

from typing import Any

import msgspec

from budget.project import Project


def differences(one: Project, other: Project) -> tuple[tuple[str, Any, Any], ...]:
    """Return (path, value in ``one``, value in ``other``) where two projects differ."""
    a, b = msgspec.to_builtins(one), msgspec.to_builtins(other)
    paths = dict.fromkeys((*changed_paths(a, b), *changed_paths(b, a)))
    return tuple((path, _value_at(a, path), _value_at(b, path)) for path in paths)


def _value_at(tree: Any, path: str) -> Any:
    """Return the value of a dotted path, list items found by their id; None where there is none."""
    while path:
        key, _, rest = path.partition(".")
        if isinstance(tree, dict):
            if key not in tree and rest:  # a key that itself holds dots
                found = [name for name in tree if path == name or path.startswith(f"{name}.")]
                key = found[0] if found else key
                rest = path[len(key) + 1 :]
            tree = tree.get(key)
        elif isinstance(tree, (list, tuple)):
            matching = [
                item for item in tree if path == item["id"] or path.startswith(f"{item['id']}.")
            ]
            if not matching:
                return None
            tree = max(matching, key=lambda item: len(item["id"]))
            rest = path[len(tree["id"]) + 1 :]
        else:
            return None
        path = rest
    return tree


def changed_paths(before: Any, after: Any, path: str = "") -> list[str]:
    """Return the dotted paths of the values that a person changed, list items by their id."""
    if path in ("declared", "schema") or before == after:
        return []
    if isinstance(after, dict) and isinstance(before, (dict, type(None))):
        return [
            found
            for key, value in after.items()
            for found in changed_paths(
                (before or {}).get(key), value, f"{path}.{key}" if path else key
            )
        ]
    if (
        isinstance(after, (list, tuple))
        and after
        and isinstance(after[0], dict)
        and "id" in after[0]
    ):
        known = {item["id"]: item for item in before or ()}
        return [
            found
            for item in after
            for found in changed_paths(known.get(item["id"]), item, f"{path}.{item['id']}")
        ]
    return [path]
