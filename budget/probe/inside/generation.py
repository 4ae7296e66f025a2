"""One generate call and its `call` record."""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from . import automatic, changes, moments
from .state import guard, state, write


class Sizes(NamedTuple):
    """Of one call; tokens are the mean of its sequences, rounded. None: not known."""

    input_tokens: Optional[int] = None
    output_tokens: Optional[int] = None
    batch_size: Optional[int] = None


class Watched(NamedTuple):
    """How a library's calls are read.

    `parameters` and `sizes` look at (model, args, kwargs), the latter also at the result. They run
    outside the time that is measured, `sizes` when the call has waited for its own result.
    """

    library: str
    parameters: Callable[[Any, Tuple[Any, ...], Dict[str, Any]], Dict[str, Any]]
    sizes: Callable[[Any, Tuple[Any, ...], Dict[str, Any], Any], Sizes]

    def __call__(self, model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> "Generation":
        return Generation(self, model, args, kwargs)


class Generation:
    """A call in progress; one within another is a part of it and is not recorded."""

    def __init__(
        self, watched: Watched, model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> None:
        automatic.thread.generations += 1
        self._watched = watched
        self._given = (model, args, kwargs)
        loads = automatic.thread.loads
        self._recorded = automatic.thread.generations == 1 and not loads and not state.uses_api
        if self._recorded:
            guard(self._compare)
        self._outermost = automatic.begin_call()
        self._began = moments.now()

    def fail(self, failure: BaseException) -> None:
        """An exception has left it: the error is written, and no call."""
        self._leave(failure)
        if self._recorded:
            changes.failed(type(failure).__name__)

    def end(self, result: Any) -> None:
        """It has ended."""
        ended = self._leave(None)
        if self._recorded and not state.uses_api:
            guard(lambda: self._record(ended, result))

    def _leave(self, failure: Optional[BaseException]) -> moments.Moment:
        automatic.thread.generations = max(0, automatic.thread.generations - 1)
        return automatic.end_call(self._outermost, False, failure)

    def _record(self, ended: moments.Moment, result: Any) -> None:
        fields = {
            "phase": "run",
            "duration_s": ended.since_s(self._began),
            **self._sizes(result)._asdict(),
            "read_by": "hook:" + self._watched.library,
            **ended.stamp(),
        }
        write("call", fields, "hook")

    def _sizes(self, result: Any) -> Sizes:
        try:
            return self._watched.sizes(*self._given, result)
        except Exception:
            # a model that takes or gives something of its own
            return Sizes()

    def _compare(self) -> None:
        try:
            found = self._watched.parameters(*self._given)
        except Exception:
            return
        kind = "{}:{}".format(self._watched.library, type(self._given[0]).__qualname__)
        changes.compare(kind, found)
