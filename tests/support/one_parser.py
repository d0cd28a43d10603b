"""One parsing child for all YAML that tests read without a parser of their own: its start takes 40 ms."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.parsing import yaml_document
from bot.parsing.parser import Parser


@contextmanager
def one_parser() -> Iterator[None]:
    lock = threading.Lock()
    with Parser(float("inf")) as parser:

        @contextmanager
        def locked() -> Iterator[Parser]:
            with lock:
                yield parser

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(yaml_document, "Parser", locked)
            yield
