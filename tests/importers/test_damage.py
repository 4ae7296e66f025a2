"""Torn, glued, mutilated and hostile lines: what is good is read, what is not is named."""

from __future__ import annotations

import time

import pytest

from budget import importers
from budget.importers.findings import MAX_ALIKE
from tests.importers.written import (
    CHILD_LINES,
    MERGED_LINES,
    PARENT_LINES,
    begin,
    file,
    finish,
    inside,
    line,
    moved,
    opening,
    said,
    told,
    whats,
)

HEAD = (opening(0.0), begin(1.0), finish(5.0, 4.0))
LAST = line("note", 9.0, text="the end")


def read(data: bytes):
    return importers.read("f.jsonl", data)


def notes(log) -> list[str]:
    return [note.text for session in log.sessions for note in session.notes]


def assert_whole(log) -> None:
    assert [(a.id, a.duration_s, a.outcome) for a in log.attempts] == [("a1", 4.0, "ok")]
    assert notes(log)[-1:] == ["the end"]


def test_the_good_log_has_no_problem():
    assert whats(read(file(*MERGED_LINES))) == []


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + file(*HEAD, LAST),
        file(*HEAD, LAST).replace(b"\n", b"\r\n"),
        file(*HEAD, LAST).replace(b"\n", b"\n\n  \r\n"),
        file(*HEAD, LAST)[:-1],  # no newline at the end
        file(*HEAD, HEAD[2] + LAST),  # two objects on one line; the first is a copy
        file(*HEAD, HEAD[2] + "  " + LAST),
        file(*HEAD) + b"\xef\xbb\xbf" + file(LAST),  # two files with marks put together
    ],
    ids=["mark", "crlf", "blank lines", "no newline", "glued", "glued with blanks", "inner mark"],
)
def test_harmless_oddities_are_read_without_a_problem(data):
    log = read(data)
    assert whats(log) == []
    assert_whole(log)


def test_separators_inside_texts_do_not_cut_a_line():
    text = "a\u2028b\u2029c\x85d\u000be"
    log = read(file(*HEAD, line("note", 6.0, text=text), LAST))
    assert whats(log) == []
    assert notes(log) == [text, "the end"]


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_last_line_that_is_cut_off_is_called_so(cut):
    log = read(file(*HEAD, LAST) + line("note", 10.0, text="é").encode()[:cut])
    assert whats(log) == [
        "f.jsonl:5 the last line is cut off: the process was killed while writing;"
        " everything before it was read"
    ]
    assert_whole(log)


def test_a_last_line_cut_inside_a_character_is_called_cut_off_too():
    torn = line("note", 10.0, text="é").encode()
    torn = torn[: torn.index("é".encode()) + 1]
    log = read(file(*HEAD, LAST) + torn)
    assert ["cut off" in text for text in whats(log)] == [True]
    assert_whole(log)


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (b'{"event": "note", "text": "\xff\xfe"}', "no UTF-8 text"),
        (b"Throughput: 41 tokens/s", "no complete record"),
        (b'{"event": "call", "duration_s": -nan}', "no complete record"),
        (b'{"event": "call", "duration_s": inf}', "no complete record"),
        (b'{"event": "call", "duration_s": ', "no complete record"),
        (b"41", "no complete record"),
        (b"[" * 200_000, "no complete record"),
        (b'{"event":' * 200_000, "no complete record"),
        (b'{"event": "x", "v": ' + b"[" * 60 + b"]" * 60 + b"}", "no complete record"),
        (b"\x00" * 4096, "no complete record"),
        (b'{"text": "no event"}', "does not name its event"),
        (b'{"event": 5}', "does not name its event"),
    ],
)
def test_a_bad_line_is_named_and_loses_only_itself(bad, what):
    log = read(file(*HEAD) + bad + b"\n" + file(LAST))
    [problem] = log.problems
    assert told(problem).startswith("f.jsonl:4 ")
    assert what in said(problem.what)
    assert_whole(log)


@pytest.mark.parametrize(
    "torn",
    [b'{"event":"note","text":"ha', b'{"event":"note","text":"\xc3', b"\x00\x00\x00", b"12:01 x "],
)
def test_a_record_appended_to_a_torn_line_is_still_read(torn):
    log = read(file(*HEAD) + torn + file(LAST))
    [problem] = log.problems
    assert problem.where == "f.jsonl:4"
    assert_whole(log)


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999", "9" * 5000])
def test_a_number_that_is_none_is_missing_and_named(token):
    call = inside("call", 3.0, duration_s=1.5, input_tokens=7).replace("1.5", token)
    log = read(file(*HEAD, call, LAST))
    [problem] = log.problems
    assert problem.where == "f.jsonl:4"
    assert "counts as missing" in said(problem.what)
    [fragment] = log.fragments
    assert (fragment.calls[0].duration_s, fragment.calls[0].input_tokens) == (None, 7)
    assert_whole(log)


def test_of_a_key_that_stands_twice_the_first_value_is_used_and_it_is_said():
    call = inside("call", 3.0, duration_s=1.5)[:-1] + ', "duration_s": 9.0}'
    log = read(file(*HEAD, call))
    assert whats(log) == ["f.jsonl:4 the line states duration_s twice; the first value is used"]
    assert log.fragments[0].calls[0].duration_s == 1.5


def test_texts_that_cannot_be_stored_are_made_storable():
    note = line("note", 3.0, text="X").replace('"X"', r'"a\ud800b\u0000c\ud83d\ude00"')
    log = read(file(*HEAD, note))
    assert whats(log) == []
    assert notes(log) == ["a\ufffdb\ufffdc\U0001f600"]
    notes(log)[0].encode("utf-8")


def test_of_many_problems_of_one_kind_twenty_are_listed_and_the_rest_counted():
    log = read(file(*HEAD, *["rubbish"] * 50, LAST))
    assert len(log.problems) == MAX_ALIKE + 1 == 21
    assert log.problems[0].where == "f.jsonl:4"
    last = log.problems[-1]
    assert (last.where, last.what.values["count"]) == ("f.jsonl:24", 30)  # 4 + 20; 50 - 20
    assert_whole(log)


def test_a_long_hostile_line_takes_no_long_time():
    began = time.process_time()
    read(file(*HEAD) + b'{"event":' * 1_000_000 + b"\n" + file(LAST))
    assert time.process_time() - began < 10


def test_every_complete_attempt_before_a_cut_survives_it():
    data = file(*MERGED_LINES)
    end = data.index(b"attempt.end") + len(b"attempt.end")
    complete = data.index(b"\n", end)
    for cut in range(complete, len(data)):
        [attempt] = read(data[:cut]).attempts
        assert (attempt.duration_s, attempt.outcome) == (20.0, "ok")


def test_a_thousand_attempts_are_all_read():
    lines = [opening(0.0)]
    for number in range(1_000):
        t, name = number * 30.0, f"a{number}"
        lines += [begin(t + 1, name)]
        lines += [
            moved(text, t + 1 + order, attempt=name) for order, text in enumerate(CHILD_LINES[1:])
        ]
        lines += [finish(t + 21, 20.0, name)]
    data = file(*lines)
    log = read(data)
    assert len(log.attempts) == len(log.fragments) == 1_000
    assert log.problems == ()


def test_the_problems_of_a_log_carry_file_and_line():
    log = read(file(PARENT_LINES[0], "x", begin(1.0, role="boss"), finish(5.0, -1)))
    assert [p.where for p in log.problems] == ["f.jsonl:2", "f.jsonl:3", "f.jsonl:4"]
