"""SKILL.md files for tests."""

from collections.abc import Mapping
from pathlib import Path

from tests.support.files import write_file


def skill(front: str, body: str = "Say hello.\n") -> str:
    return f"---\n{front}---\n{body}"


def text(name: str, use: str = "Says hello.", body: str = "Do it.\n", more: str = "") -> str:
    return skill(f"name: {name}\ndescription: {use}\n{more}", body)


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        write_file(root / name, content.encode())
    return root
