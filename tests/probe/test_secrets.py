"""Nothing secret and nothing that names a person or a host reaches a log."""

from __future__ import annotations

import os

import pytest

from budget.probe.secrets import clean, clean_argv, is_secret_name
from tests.probe.desk import Desk

SECRET = "Zq7cVb5nM2xK9"


@pytest.mark.parametrize(
    "words",
    [
        ["--token", SECRET],
        ["--api-key=" + SECRET],
        ["--hf_token=" + SECRET + ",more"],
        ["--password", SECRET + " with spaces"],
        ["-e", "HF_TOKEN=" + SECRET],
        ["WANDB_API_KEY=" + SECRET],
        ["+hub.token=" + SECRET],
        ["--accessKey", SECRET],
        ["https://user:" + SECRET + "@example.org/x"],
        ["git+https://" + SECRET + "@example.org/x"],
        ["https://user:p@" + SECRET + "@example.org/x"],
        ["https://example.org/x?a=1&token=" + SECRET],
        ["https://example.org/x?X-Amz-Signature=" + SECRET],
        ["--header", "Authorization: Bearer " + SECRET],
        ["--header", "Authorization: Basic " + SECRET],
        ["--header", "x-api-key: " + SECRET],
        ["hf_" + SECRET],
        ["sk-" + SECRET],
        ["sk-proj-" + SECRET],
        ["--x=hf_" + SECRET],
        ["ghp_" + SECRET],
        ["sh", "-c", "export OPENAI_API_KEY=" + SECRET + "; run --token " + SECRET],
        ["sh", "-c", "export SECRET='" + SECRET + " two'; run --token \"" + SECRET + ' two"'],
        ['{"token": "' + SECRET + '"}'],
    ],
)
def test_a_secret_on_the_command_line_is_hidden(words: list[str]) -> None:
    cleaned = " ".join(clean_argv(["python", *words]))
    assert SECRET not in cleaned
    assert "***" in cleaned
    assert "two" not in cleaned


@pytest.mark.parametrize(
    "words",
    [
        ["--max-tokens", "512"],
        ["--max_new_tokens=128"],
        ["--tokenizer", "gpt2"],
        ["--eos-token", "</s>"],
        ["--use-auth-token", "--model", "tiny"],
        ["--lr=1e-4", "--key", "value"],
        ["https://example.org/a/b?page=2"],
        ["sk-learn", "a/b/c.py", "model:v2", "1/2"],
    ],
)
def test_an_ordinary_word_stays(words: list[str]) -> None:
    assert clean_argv(["python", *words]) == ["python", *words]


def test_a_value_known_from_a_secret_variable_is_hidden_anywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_SECRET", SECRET)
    assert clean(f"request with {SECRET} failed") == "request with *** failed"


def test_paths_lose_where_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert clean_argv(["/opt/venv/bin/python", "/home/someone/a/b.py", "--out=/srv/x/y"]) == [
        "python",
        "~/a/b.py",
        "--out=…/y",
    ]
    assert clean("no file '/srv/data/x.bin' (see file:///srv/y)") == (
        "no file '…/x.bin' (see file:…/y)"
    )
    assert clean("PATH=/usr/bin:/srv/x") == "PATH=…/bin:…/x"


def test_user_and_host_lose_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "mariecurie")
    host = os.uname().nodename
    assert clean("mariecurie owns it") == "<user> owns it"
    if len(host) >= 4:
        assert host not in clean(f"connect to {host}:80")


@pytest.mark.parametrize("name", ["HF_TOKEN", "apiKey", "db.password", "--secret-key", "token2"])
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


def test_no_secret_reaches_any_file(desk: Desk) -> None:
    desk.env["HF_TOKEN"] = SECRET
    code = (
        "import os\nfrom budget.probe import phase, result\n"
        "result('url', 'https://u:' + os.environ['HF_TOKEN'] + '@example.org')\n"
        "with phase('run'): raise OSError('refused ' + os.environ['HF_TOKEN'])"
    )
    desk.probe(
        *("run", "--block", "b", "--param", "token=" + SECRET, "--model", "hf_" + SECRET, "--"),
        *("python3", "-c", code, "--token", SECRET),
    )
    desk.probe("note", "the token is", SECRET)
    desk.probe(
        *("change", "--kind", "environment", "--what", "API_KEY", "--from", "abc"),
        *("--to", "def", "--reason", "key " + SECRET),
    )
    desk.probe("end")
    assert desk.only("change")["from"] == desk.only("change")["to"] == "***"
    assert len(desk.records("error")) == 1
    for path in desk.logs.iterdir():
        text = path.read_text()
        assert SECRET not in text
        assert str(desk.folder) not in text
        assert f'"{os.uname().nodename}"' not in text
