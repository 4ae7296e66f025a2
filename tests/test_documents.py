"""The project document: every bad input by its sentence and line, and writing what was read."""

from __future__ import annotations

import string
from datetime import date
from decimal import Decimal as D
from typing import Any, get_args

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from budget.checks import check
from budget.documents import from_tree, read, to_tree, write
from budget.project import (
    Answer,
    Assignment,
    Block,
    Campaign,
    Condition,
    Declaration,
    Environment,
    Model,
    Policy,
    Project,
    Quote,
    QuoteKind,
    Recurrence,
    Result,
    Scope,
    Status,
)
from budget.wording import Wording
from budget.yamltext import MAX_CHARACTERS, read_yaml

WORDS = Wording()
HEAD = "schema: compute-budget/1\ntitle: t\n"


def problems(text: str | bytes) -> list[str]:
    """Return "line: what; do next" of each problem of a document."""
    data = text if isinstance(text, bytes) else text.encode()
    found = []
    for problem in read(data, "p.yaml").problems:
        name, _, line = problem.where.rpartition(":")
        assert name == "p.yaml"
        found.append(f"{line}: {WORDS.text(problem.what)}; {WORDS.text(problem.do_next)}")
    return found


def only(text: str | bytes) -> str:
    """Return the one problem of a document."""
    (problem,) = problems(text)
    return problem


def sound(text: str) -> Project:
    document = read(text.encode(), "p.yaml")
    assert document.problems == ()
    assert document.project is not None
    return document.project


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "1: the file is empty; choose the file that was saved"),
        (b" \n\n", "1: the file is empty"),
        ("title: x".encode("utf-16"), "1: the file is not UTF-8 text; save it as UTF-8"),
        (b"title: t\ncurrency: \xfcber\n", "2: the file is not UTF-8 text"),
        (b"\x89PNG\r\n\x1a\n\x00", "1: the file is not UTF-8 text"),
        (b"title: t\nb: \x00\n", "2: the file holds a character that no text has"),
        (b"title: t\r\nb: \x1b[31m\r\n", "2: the file holds a character that no text has"),
        (b"null", "1: this is not a project document"),
        (b"# nothing but a remark\n", "1: this is not a project document"),
        (b"- a\n- b\n", "1: this is not a project document"),
        (b"<html></html>", "1: this is not a project document"),
        (b'{"event": "session.start"}\n{"event": "note"}\n', "1: this is not a project document"),
        (b"schema: compute-budget/2\ntitle: t\nnew: 1\n",
         "1: the document says schema compute-budget/2; this version reads compute-budget/1"),
        (b"title: t\n\nschema: [1]\n", "3: schema must be one value"),
        (b"schema: compute-budget/1\n", "1: the document needs title; add `title:"),
        (b"schema: compute-budget/1\ntitle: ~\n", "1: the document needs title"),
        (b"title: 'no end\nblocks: []\n", "3: this is not valid YAML"),
        ((HEAD + "campaign:\n\tstart: 2027-01-11\n").encode(), "4: this is not valid YAML"),
        ((HEAD + "blocks: " + "[" * 5000).encode(), "3: this is not valid YAML"),
        ((HEAD + "---\ntitle: u\n").encode(), "3: a second document begins here"),
        (b'title: "\\ud800"\n', "1: this is not valid YAML"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_plan_is_refused_at_its_line(text: bytes, said: str) -> None:
    assert only(text).startswith(said)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("colour: red", "3: the key colour is unknown here; known keys: title, schema"),
        ("campaign: {began: 2027-01-11}", "3: the key began is unknown here"),
        ("title: again", "3: the key title stands here again (first in line 2)"),
        ("currency: EUR\ncurrency: USD", "4: the key currency stands here again (first in line 3)"),
        ("scope: &a {}", "3: an anchor (&) is not allowed"),
        ("&a scope: {}", "3: an anchor (&) is not allowed"),
        ("scope: !!map {}", "3: a tag (!) is not allowed"),
        ("as_of: !date 2027-01-11", "3: a tag (!) is not allowed"),
        ("currency: [EUR]", "3: currency must be one value"),
        ("title2: {}", "3: the key title2 is unknown here"),
        ("blocks: none", "3: blocks must be a list"),
        ("blocks: {id: a}", "3: blocks must be a list"),
        ("blocks: [a]", "3: blocks[1] must hold keys and values"),
        ("blocks: [null]", "3: blocks[1] is empty; fill it or remove the dash"),
        ("scope: {methods: [~]}", "3: scope.methods[1] is empty"),
        ("campaign: []", "3: campaign must hold keys and values"),
        ("declared: []", "3: declared must hold keys and values"),
        ("currency: eur", "3: currency is eur, which is not allowed here; write three capital"),
        ('currency: "EUR\\n"', "3: currency is EUR"),
        ("as_of: 11.1.2027", "3: as_of is 11.1.2027, which is no date; write year-month-day"),
        ("as_of: 2027-02-30", "3: as_of is 2027-02-30, which is not allowed here; write a day"),
        ("campaign: {cap: 1.000}", '3: campaign.cap: "1.000" is ambiguous; write 1000 or 1.0'),
        ("campaign: {cap: nan}", '3: campaign.cap: "nan" is not a number'),
        ("campaign: {cap: -1}", "3: campaign.cap is -1, but must be at least 0"),
        ("campaign: {cap: ''}", "3: campaign.cap: the field is empty"),
        ("campaign: {machines_at_once: 1.5}", "3: campaign.machines_at_once is 1.5, but must be a"),
        ("ownership: {utilisation: 1.2}", "3: ownership.utilisation is 1.2, but must be at most 1"),
        ("ownership: {life_years: 0}", "3: ownership.life_years is 0, but must be more than 0"),
        ("requirements: {accelerator: CUDA}",
         "3: requirements.accelerator is CUDA, which is not one of the choices; choose one of"),
        ("quotes:\n  - {id: q, example: yes}", "4: quotes[1].example is yes, which is not allowed"),
        ("quotes:\n  - {amount: 1}", "4: quotes[1] needs id; add `id:"),
        ("blocks:\n  - id: a\n    waits_h: {lunch: 1}", "5: the key lunch is unknown here"),
        ("blocks:\n  - {id: a/b}", "4: blocks[1].id is a/b, which is not allowed here; use up to"),
        ("attempts: {x1: {block: a}}", "3: attempts.x1 needs reason"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused_at_its_line(body: str, said: str) -> None:
    assert only(HEAD + body + "\n").startswith(said)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("blocks:\n- id: a\n  planned_runs: 0", "5: blocks[1].planned_runs is 0, but must be at"),
        ("blocks:\n- id: a\n  planned_runs: -1", "5: blocks[1].planned_runs is -1, but must be at"),
        ("blocks:\n- id: a\n- id: b\n- id: a", "6: the id a is used twice in blocks"),
        ("quotes: [{id: q}, {id: q}]", "3: the id q is used twice in quotes"),
        ("scope:\n  models:\n  - id: m\n  - id: m", "6: the id m is used twice in scope.models"),
        ("blocks:\n- id: a\n  status: confirmed",
         "5: block a is confirmed by the protocol but says not where; give protocol_ref"),
        ("blocks:\n- id: a\n  status: confirmed\n  protocol_ref: ' '", "5: block a is confirmed"),
        ("blocks:\n- id: a\n  environment: h100", "5: block a names environment h100, which does"),
        ("blocks:\n- id: a\n  depends_on: [b]", "5: block a depends on b, which is no other block"),
        ("blocks:\n- id: a\n  depends_on: [a]", "5: block a depends on a, which is no other block"),
        ("environments: [{id: e, gpu_count: 1}]\nblocks:\n- {id: a, environment: e, gpus: 2}",
         "5: block a uses 2 GPUs, the machine has 1"),
        ("campaign:\n  start: 2027-01-11\n  end: 2027-01-10",
         "5: the campaign ends on 2027-01-10, before it starts on 2027-01-11"),
        ("attempts:\n  x1: {block: gone, reason: r}", "4: attempt x1 is assigned to gone"),
    ],
)  # fmt: skip
def test_a_plan_that_contradicts_itself_is_refused_at_its_line(body: str, said: str) -> None:
    assert only(HEAD + body + "\n").startswith(said)


def test_blocks_that_wait_for_each_other_are_named_once() -> None:
    body = """blocks:
- id: free
- {id: c, depends_on: [a]}
- {id: a, depends_on: [free, b]}
- {id: b, depends_on: [c]}
- {id: d, depends_on: [a]}
"""
    said = only(HEAD + body)
    assert said == (
        "5: these blocks wait for each other: c → a → b → c; remove one of them from depends_on"
    )


def test_blocks_that_wait_in_order_are_no_circle() -> None:
    body = "blocks:\n- id: a\n- {id: b, depends_on: [a]}\n- {id: c, depends_on: [a, b]}\n"
    assert sound(HEAD + body)


def test_a_long_chain_of_blocks_is_followed_to_its_end() -> None:
    blocks = [Block(id=f"b{i}", depends_on=(f"b{(i + 1) % 3000}",)) for i in range(3000)]
    (found,) = check(Project(title="t", blocks=tuple(blocks)))
    assert found[0] == ("blocks", 0, "depends_on")


def test_all_problems_of_a_file_are_found_in_one_pass() -> None:
    body = """colour: red
blocks:
  - id: a
    planned_runs: 0
  - {id: broken/name}
  - id: a
    status: confirmed
currency: &x EUR
campaign: {cap: 1.000, cap: 2}
title: again
"""
    lines = [said.partition(":")[0] for said in problems(HEAD + body)]
    # anchor, the two keys given again, then the types and then the contradictions, as they stand
    assert lines == ["10", "11", "12", "3", "6", "7", "11", "8", "9"]


def test_a_problem_leaves_the_rest_of_the_plan_readable() -> None:
    document = read((HEAD + "blocks:\n- {id: a, planned_runs: 0}\n- {id: b}\n").encode(), "p.yaml")
    assert document.project is not None
    assert [block.id for block in document.project.blocks] == ["a", "b"]
    assert document.project.block("a").planned_runs is None  # type: ignore[union-attr]


def test_an_alias_is_no_value() -> None:
    said = problems(HEAD + "campaign: &a {}\nscope: *a\n")
    assert [item.split(";")[0] for item in said] == [
        "3: an anchor (&) is not allowed",
        "4: an alias (*) is not allowed",
    ]


def test_two_hundred_nested_lists_end_in_a_sentence() -> None:
    said = problems(HEAD + "blocks: " + "[" * 200 + "]" * 200 + "\n")
    assert said[0].startswith("3: the nesting is too deep")


def test_a_huge_file_is_refused_before_it_is_parsed() -> None:
    assert only(b"- a\n" * (MAX_CHARACTERS // 4 + 1)).startswith("1: the file is too large")


def test_a_refused_text_is_not_repeated_at_length() -> None:
    said = problems(HEAD + f"currency: {'9' * 5000}\ncampaign: {{cap: {'9' * 5000}}}\n")
    assert len(said) == 2
    assert all(len(item) < 250 for item in said)


def test_lines_are_counted_as_editors_count_them() -> None:
    # YAML 1.1 ends a line at U+2028 and U+0085 too; an editor does not.
    assert only('title: "a\u2028b\u0085c"\nschema: compute-budget/1\nblocks: 3\n').startswith("3: ")
    assert only("title: t\r\n\r\nblocks: 3\r\n").startswith("3: ")


def test_what_was_meant_as_text_stays_text() -> None:
    project = sound(
        HEAD
        + """environments: [{id: e, driver: 550.54, torch: 0123456, cuda: 12.10, os: no}]
scope:
  methods: [yes, off, 1_000, 0x10, 2027-01-11, 1e3, ""]
  generation: {on: off, 7: 08, "null": "null"}
  paper: {title: "null", version: null, url: ~}
blocks: [{id: "007", condition: {code: 0123456, parameters: {ratio: 0.30}}}]
"""
    )
    (environment,) = project.environments
    assert (environment.driver, environment.torch, environment.cuda) == (
        "550.54",
        "0123456",
        "12.10",
    )
    assert environment.os == "no"
    assert project.scope.methods == ("yes", "off", "1_000", "0x10", "2027-01-11", "1e3", "")
    assert project.scope.generation == {"on": "off", "7": "08", "null": "null"}
    assert project.scope.paper.title == "null"
    assert (project.scope.paper.version, project.scope.paper.url) == (None, None)
    assert project.block("007").condition.parameters == {"ratio": "0.30"}  # type: ignore[union-attr]


def test_null_is_what_nobody_has_said() -> None:
    project = sound("schema: null\ntitle: t\ncampaign: null\nblocks: ~\npolicy:\ncurrency: null\n")
    assert project == Project(title="t")


def test_numbers_of_a_document_may_be_typed_as_people_type_them() -> None:
    project = sound(HEAD + "campaign: {cap: '1.355,90', need_horizon_months: 1,5}\n"
                    "environments: [{id: e, ram_bytes: 25 276 502 016}]\n"
                    .replace("1,5", "'1,5'"))  # fmt: skip
    assert project.campaign.cap == D("1355.90")
    assert project.campaign.need_horizon_months == 1.5
    assert project.environments[0].ram_bytes == 25_276_502_016


def test_the_line_of_a_part_is_where_it_begins() -> None:
    source = read_yaml(b"a:\n  - b: 1\n\n    c:\n      d\nlast: x\n", "f")
    assert source.tree == {"a": [{"b": "1", "c": "d"}], "last": "x"}
    places: list[tuple[Any, int]] = [
        (("a",), 1), (("a", 0), 2), (("a", 0, "c"), 4), (("last",), 6), (("a", 0, "gone"), 2),
    ]  # fmt: skip
    for path, line in places:
        assert source.line(path) == line


def test_a_table_of_a_page_is_checked_like_a_file() -> None:
    project, found = from_tree(
        {"title": "t", "blocks": [{"id": "a", "planned_runs": 0, "waits_h": {"fix": 1.125}}]}
    )
    assert [problem.where for problem in found] == ["blocks[1].planned_runs"]
    assert project is not None
    assert project.blocks[0].waits_h == {"fix": 1.125}  # a number is not asked about


def test_a_written_policy_names_only_what_was_set() -> None:
    tree = to_tree(Project(title="t", policy=Policy(quote_age_days=14)))
    assert tree["policy"] == {"quote_age_days": 14}


NASTY = st.sampled_from(
    ["null", "~", "yes", "no", "0123456", "550.54", "1.000", "a: b", "- a", "# x", "'", '"', '"a',
     "a\nb", "\n", " lead", "trail ", "", "{x}", "[1", "&a", "*a", "!t", "%", "@", "`", "<<",
     "…é漢😀", "a\u2028b", "a\x85b", "\ufeffx", "\t", "x" * 300, "2027-01-11", "=", "|",
     ">", "? a", "---"]
)  # fmt: skip
TEXT = NASTY | st.text(max_size=20)
IDS = st.text(string.ascii_letters + string.digits, min_size=1, max_size=6) | st.sampled_from(
    ["null", "yes", "007", "1e3", "1.5", "a-b.c_d"]
)
DAYS = st.dates(date(2000, 1, 1), date(2100, 1, 1))
HOURS = st.floats(min_value=1e-6, max_value=1e6) | st.sampled_from([1.125, 0.1, 12.345, 1e-7, 0.0])
COUNTS = st.integers(min_value=1, max_value=10**12)
AMOUNTS = st.decimals(min_value=0, max_value=10**9, places=3) | st.sampled_from(
    [D("1.000"), D("12.345"), D("1E+3"), D("0E-10"), D("2.49")]
)
MAPS = st.dictionaries(TEXT, TEXT, max_size=3)


def maybe(strategy: Any) -> Any:
    return st.none() | strategy


@st.composite
def projects(draw: st.DrawFn) -> Project:
    environments = draw(
        st.lists(
            st.builds(Environment, id=IDS, label=maybe(TEXT), os=maybe(TEXT), driver=maybe(TEXT),
                      gpu_count=st.just(8), ram_bytes=maybe(COUNTS), libraries=MAPS,
                      available_hours_per_week=maybe(st.floats(min_value=0.001, max_value=168))),
            max_size=2, unique_by=lambda item: item.id,
        )
    )  # fmt: skip
    places = st.sampled_from([item.id for item in environments] or [None])
    names = draw(st.lists(IDS, max_size=3, unique=True))
    blocks = tuple(
        draw(
            st.builds(
                Block, id=st.just(name), title=maybe(TEXT),
                status=st.sampled_from(get_args(Status)),
                protocol_ref=st.just("Table 2: row 3"), environment=places,
                gpus=maybe(st.integers(0, 8)), planned_runs=maybe(COUNTS),
                condition=st.builds(Condition, code=maybe(TEXT), model=maybe(TEXT),
                                    input_tokens=maybe(st.integers(0, 10**9)), parameters=MAPS),
                waits_h=st.dictionaries(st.sampled_from(["decision", "fix"]), maybe(HOURS)),
                recurs=maybe(st.builds(Recurrence, until=maybe(DAYS))), count_trials=st.booleans(),
                depends_on=st.sets(st.sampled_from(names[:index] or [None])).map(
                    lambda found: tuple(sorted(item for item in found if item))),
            )
        )
        for index, name in enumerate(names)
    )  # fmt: skip
    return draw(
        st.builds(
            Project, title=TEXT, currency=maybe(st.just("EUR")), as_of=maybe(DAYS),
            campaign=st.builds(Campaign, start=maybe(DAYS), cap=maybe(AMOUNTS),
                               need_horizon_months=maybe(HOURS)),
            scope=st.builds(
                Scope,
                results=st.lists(st.builds(Result, id=IDS, value=maybe(TEXT)), max_size=2,
                                 unique_by=lambda item: item.id).map(tuple),
                models=st.lists(st.builds(Model, id=TEXT), max_size=2,
                                unique_by=lambda item: item.id).map(tuple),
                generation=MAPS, methods=st.lists(TEXT, max_size=3).map(tuple),
                checklist=st.dictionaries(TEXT, st.builds(Answer, evidence=maybe(TEXT)),
                                          max_size=2),
            ),
            environments=st.just(tuple(environments)), blocks=st.just(blocks),
            attempts=st.dictionaries(
                TEXT, st.builds(Assignment, block=st.sampled_from([*names, None]), reason=TEXT),
                max_size=2),
            quotes=st.lists(
                st.builds(Quote, id=IDS, environment=maybe(TEXT), amount=maybe(AMOUNTS),
                          kind=st.sampled_from(get_args(QuoteKind)), source=maybe(TEXT),
                          verified_on=maybe(DAYS), example=st.booleans()),
                max_size=2, unique_by=lambda item: item.id).map(tuple),
            policy=st.builds(Policy, session_merge_h=st.sampled_from([1.0, 1.125, 2.5])),
            declared=st.dictionaries(TEXT, st.builds(Declaration, by=TEXT, on=DAYS), max_size=2),
        )
    )  # fmt: skip


@settings(max_examples=60, deadline=None, phases=[Phase.generate])  # shrinking takes minutes
@given(projects())
def test_any_sound_project_survives_being_written_and_read(project: Project) -> None:
    text = write(project)
    document = read(text.encode(), "p.yaml")
    assert document.problems == ()
    assert document.project == project
    assert write(document.project) == text


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=80).map(lambda text: (HEAD + text).encode()))
def test_any_bytes_are_a_project_or_problems(data: bytes) -> None:
    document = read(data, "p.yaml")
    assert document.problems or document.project is not None
