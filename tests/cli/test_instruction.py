"""The instruction of a run, from the command line and standard input."""

import argparse
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.options import add_instruction, instruction_of
from bot.contracts.errors import UsageError


@pytest.fixture(autouse=True)
def own_standard_input() -> Iterator[None]:
    saved = os.dup(0)
    yield
    os.dup2(saved, 0)
    os.close(saved)


def read(*words: str) -> str:
    parser = argparse.ArgumentParser()
    add_instruction(parser, "what to do")
    return instruction_of(parser.parse_args(words))


def pipe(data: bytes) -> None:
    reader, writer = os.pipe()
    os.dup2(reader, 0)
    os.close(reader)
    os.write(writer, data)
    os.close(writer)


@pytest.mark.parametrize(
    ("words", "data", "instruction"),
    [
        (["-"], b"fix the parser\n", "fix the parser"),
        ([], b"fix the parser\n", "fix the parser"),
        (["fix it"], b"E: line 3\n", "fix it\n\nFrom standard input, as context:\nE: line 3"),
        (["fix it"], b"", "fix it"),
        ([], b" \n", ""),
        (["-"], b"caf\xe9", "caf\ufffd"),
        (["  "], b"fix it", "fix it"),
    ],
)
def test_a_pipe_is_the_instruction_or_its_context(words: list[str], data: bytes, instruction: str):
    pipe(data)
    assert read(*words) == instruction


def test_a_file_is_read_as_a_pipe_is(tmp_path: Path):
    (tmp_path / "request").write_text("fix the parser")
    file = os.open(tmp_path / "request", os.O_RDONLY)
    os.dup2(file, 0)
    os.close(file)
    assert read() == "fix the parser"


def test_what_holds_no_text_is_not_waited_for():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        os.dup2(theirs.fileno(), 0)
        assert read("fix it") == "fix it"
    os.close(0)
    assert read("fix it") == "fix it"
    os.open(os.devnull, os.O_RDONLY)
    assert read("fix it") == "fix it"


def test_a_dash_without_input_is_an_error():
    pipe(b"")
    with pytest.raises(UsageError, match="Standard input is empty"):
        read("-")


def test_too_much_is_refused_before_the_model_is_paid(tmp_path: Path):
    (tmp_path / "log").write_bytes(b"x" * 300_000)
    file = os.open(tmp_path / "log", os.O_RDONLY)
    os.dup2(file, 0)
    os.close(file)
    with pytest.raises(UsageError, match="over 256 KiB"):
        read("fix it")
