"""Commands to copy: what the plan states stands in them, as a shell reads it."""

import shlex

import pytest
from factory import block, condition

from budget import commands
from budget.probe import cli
from budget.project import Result


def words(text):
    """The words a shell would pass on."""
    return shlex.split(text.replace("\\\n", ""))


def test_the_condition_of_a_block_stands_in_the_command():
    plan = block(condition=condition(parameters={"ratio": "0.3", "cache": "full"}))
    assert words(commands.run(plan)) == [
        "python3", "probe.pyz", "run", "--block", "reference", "--model", "m", "--input-tokens",
        "1000", "--output-tokens", "100", "--batch-size", "1", "--param", "ratio=0.3", "--param",
        "cache=full", "--", "python", "eval.py",
    ]  # fmt: skip


def test_what_the_plan_does_not_state_is_left_out():
    plan = block(condition=condition(model=None, input_tokens=None, output_tokens=0,
                                     batch_size=None, parameters={}))  # fmt: skip
    assert words(commands.run(plan)) == [
        "python3", "probe.pyz", "run", "--block", "reference", "--", "python", "eval.py",
    ]  # fmt: skip
    assert words(commands.run(None))[3:5] == ["--block", "reference"]


@pytest.mark.parametrize(
    "value", ["a b", "it's", "$(rm -rf x)", "`x`", "a;b", 'say "x"', "é", "-1", "--x", "*"]
)
def test_a_value_reaches_the_probe_as_it_was_typed(value):
    plan = block(condition=condition(model=value, parameters={"k": value}))
    given = words(commands.run(plan))
    given = given[2 : given.index("--")]
    read = cli._parser(given).parse_args(given)
    assert (read.model, read.param) == (value, [f"k={value}"])


@pytest.mark.parametrize("value", ["a\nb", "a\x00b", "a\rb"])
def test_a_value_that_no_shell_can_copy_is_left_out(value):
    given = words(commands.run(block(condition=condition(model=value))))
    assert "--model" not in given


def test_only_results_of_the_same_place_in_the_paper_are_expected():
    results = (
        Result(id="a", ref="Table 2 row 3", metric="accuracy", value="71.2"),
        Result(id="b", ref="Table 2 row 4", metric="accuracy", value="60"),
        Result(id="c", ref="Table 2, row 3", metric="perplexity", value=None),
        Result(id="d", metric="speed", value="3"),
    )
    here = block(protocol_ref="Table 2, row 3")
    assert words(commands.run(here, results))[-5:-3] == ["--expect", "accuracy=71.2"]
    assert "--expect" not in words(commands.run(block(), results))


@pytest.mark.parametrize(
    ("launcher", "gpus", "start", "end"),
    [
        ("host", 4, ["python3", "probe.pyz", "run"], ["python", "eval.py"]),
        ("torchrun", 4, ["python3", "probe.pyz", "run"],
         ["torchrun", "--nproc-per-node", "4", "eval.py"]),
        ("torchrun", None, ["python3", "probe.pyz", "run"],
         ["torchrun", "--nproc-per-node", "gpu", "eval.py"]),
        ("slurm", 4, ["srun", "--ntasks", "4", "--gpus-per-task", "1", "python3", "probe.pyz"],
         ["python", "eval.py"]),
        ("slurm", None, ["srun", "python3", "probe.pyz", "run"], ["python", "eval.py"]),
    ],
)  # fmt: skip
def test_each_launcher_stands_on_its_side_of_the_probe(launcher, gpus, start, end):
    given = words(commands.run(block(gpus=gpus), launcher=launcher))
    assert given[: len(start)] == start
    assert given[given.index("--") + 1 :] == end


@pytest.mark.parametrize(
    "text", [commands.CHECK, commands.WATCH, commands.WAIT, commands.CHANGE, commands.END]
)
def test_every_other_command_is_one_that_the_probe_takes(text):
    for line in text.splitlines():
        given = words(line)
        assert given[:2] == ["python3", "probe.pyz"]
        cli._parser(given[2:]).parse_args(given[2:])
