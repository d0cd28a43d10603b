"""SKILL.md files for tests."""

from collections.abc import Mapping
from pathlib import Path


def skill(front: str, body: str = "Say hello.\n") -> str:
    return f"---\n{front}---\n{body}"


def text(name: str, use: str = "Says hello.", body: str = "Do it.\n", more: str = "") -> str:
    return skill(f"name: {name}\ndescription: {use}\n{more}", body)


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode())
    return root
