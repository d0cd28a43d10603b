"""Compiled templates are kept, and a cache that cannot be written costs time alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import jinja2
import pytest

from bot.publish.template_cache import TemplateCache


def environment(package: Path) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.DictLoader({"hello": "Hello {{ name }}"}),
        bytecode_cache=TemplateCache(package),
        autoescape=True,
    )


def compiled(cached: jinja2.Environment, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Render the template; return what was compiled for it."""
    sources: list[str] = []
    compile_source = cached.compile

    def counted(source: str, *rest: object, **options: object) -> object:
        sources.append(source)
        return compile_source(source, *rest, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(cached, "compile", counted)
    assert cached.get_template("hello").render(name="Ada") == "Hello Ada"
    return sources


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "__pycache__").mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def test_a_template_is_compiled_once_for_all_processes(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(compiled(environment(package), monkeypatch)) == 1
    assert compiled(environment(package), monkeypatch) == []


@pytest.mark.parametrize("why", ["no folder", "no bytecode"])
def test_where_nothing_is_written_it_is_compiled_each_time(
    package: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "no folder":
        (package / "__pycache__").rmdir()
    else:
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert len(compiled(environment(package), monkeypatch)) == 1
    assert len(compiled(environment(package), monkeypatch)) == 1
    assert [name for _, _, names in os.walk(package) for name in names] == []
