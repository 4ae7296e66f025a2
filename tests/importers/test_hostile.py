"""Whatever the bytes are, reading ends with a log, and what was complete is in it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hypothesis import assume, given
from hypothesis import strategies as st

from budget import importers
from budget.attempts import Fragment, ImportedLog, Memory
from budget.importers.contents import compression
from budget.joining import combine
from budget.sessions import gaps_s
from tests.importers.written import CHILD_LINES, MERGED_LINES, PARENT_LINES, begin, file, finish

GOOD = (*PARENT_LINES[:5], *CHILD_LINES, begin(500, "a2"), finish(540, 40.0, "a2"))
GOOD += PARENT_LINES[5:]
DURATIONS = {"a1": 20.0, "a2": 40.0}
LAST_OF = {"a1": 4, "a2": GOOD.index(finish(540, 40.0, "a2"))}
"""Index of the line that ends each attempt in ``GOOD``."""

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["", "NaN", "550", "-1", 2**64 - 1, 4_294_967_295, 10**30, "2027-01-11"]),
)  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
KEYS = sorted({key for text in GOOD for key in json.loads(text)})


def use(log: ImportedLog) -> None:
    """Do with a log what everybody does, so that nothing in it can raise later."""
    measured = combine([log, log])
    for session in measured.sessions:
        gaps_s(session, measured.attempts)
    for problem in log.problems:
        assert problem.where.startswith("f.jsonl")
    json.dumps(repr(measured)).encode("utf-8")


def memories(log: ImportedLog) -> Iterator[Memory]:
    for attempt in log.attempts:
        yield from attempt.memory
    owners: tuple[object, ...] = (*log.attempts, *log.fragments)
    for owner in owners:
        for phase in owner.phases if isinstance(owner, Fragment) else ():
            yield from phase.memory


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_exception(data):
    use(importers.read("f.jsonl", data))


@given(st.lists(st.sampled_from([*GOOD, "{", "}", "\n", '{"event":', "\x00"]), max_size=20))
def test_any_pieces_of_a_log_in_any_order_are_read_without_an_exception(pieces):
    use(importers.read("f.jsonl", "".join(pieces).encode()))
    use(importers.read("f.jsonl", "\n".join(pieces).encode()))


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), JSON), max_size=6), st.data())
def test_any_values_under_any_keys_are_read_without_an_exception(records, data):
    events = [json.loads(text)["event"] for text in GOOD]
    lines = [
        json.dumps({**json.loads(data.draw(st.sampled_from(GOOD))), **record,
                    "event": data.draw(st.sampled_from(events))})
        for record in records
    ]  # fmt: skip
    use(importers.read("f.jsonl", file(PARENT_LINES[0], *lines)))


@given(st.integers(0, len(file(*GOOD))), st.binary(max_size=6))
def test_a_cut_anywhere_loses_no_attempt_that_was_complete_before_it(cut, rest):
    data = file(*GOOD)
    log = importers.read("f.jsonl", data[:cut] + rest)
    use(log)
    got = {attempt.id: attempt.duration_s for attempt in log.attempts}
    for name, last in LAST_OF.items():
        if cut >= len(file(*GOOD[: last + 1])):
            assert got[name] == DURATIONS[name]


@given(st.integers(LAST_OF["a1"] + 1, len(GOOD) - 1), st.data())
def test_bytes_changed_in_a_line_touch_no_attempt_that_ended_before_it(number, data):
    line = bytearray(GOOD[number].encode())
    for _ in range(data.draw(st.integers(1, 5))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    before, after = file(*GOOD[:number]), file(*GOOD[number + 1 :])
    log = importers.read("f.jsonl", before + bytes(line) + b"\n" + after)
    use(log)
    got = {attempt.id: attempt for attempt in log.attempts}
    for name, last in LAST_OF.items():
        if last < number:
            assert (got[name].duration_s, got[name].outcome) == (DURATIONS[name], "ok")


@given(st.lists(st.integers(0, len(GOOD) - 1), min_size=1, max_size=4, unique=True), st.binary())
def test_lines_replaced_by_rubbish_cost_no_other_line(numbers, rubbish):
    rubbish = rubbish.replace(b"\n", b"")
    # A file that begins like an archive is taken for one.
    assume(0 not in numbers or compression(rubbish) is None)
    lines = [rubbish if i in numbers else text.encode() for i, text in enumerate(GOOD)]
    log = importers.read("f.jsonl", b"\n".join(lines) + b"\n")
    use(log)
    whole = {n for n, last in LAST_OF.items() if last not in numbers}
    begun = {n for n, first in {"a1": 1, "a2": LAST_OF["a2"] - 1}.items() if first not in numbers}
    got = {attempt.id: attempt.duration_s for attempt in log.attempts}
    assert set(got) == begun
    assert all(got[name] == DURATIONS[name] for name in whole & begun)


@given(st.lists(st.tuples(st.sampled_from([None, "host", "", 0, "0"]), JSON, JSON), max_size=4))
def test_without_a_layer_or_a_card_no_memory_of_a_card_is_ever_read(entries):
    memory = [
        {"device": device, "device_peak_bytes": size, "tensor_peak_bytes": other,
         **({"layer": "api"} if device in (None, "host", "") else {})}
        for device, size, other in entries
    ]  # fmt: skip
    end = json.dumps({**json.loads(CHILD_LINES[2]), "memory": memory})
    log = importers.read(
        "f.jsonl", file(PARENT_LINES[0], begin(1), CHILD_LINES[1], end, finish(9, 8, memory=memory))
    )
    read = list(memories(log))
    assert len(read) == 2 * len(memory)
    assert all(entry.device_peak_bytes is None for entry in read)


def test_the_good_log_yields_the_peak_that_a_card_layer_measured():
    assert [m.device_peak_bytes for m in memories(importers.read("f", file(*MERGED_LINES)))] == [
        None, 24 * 2**30
    ]  # fmt: skip
