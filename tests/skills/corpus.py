"""Folders that are skills by the letter of the specification, and folders that are not. Names tell what is special."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

USE = "description: Says hello. Use when somebody wants a greeting.\n"


def skill(front: str, body: str = "Say hello.\n") -> str:
    return f"---\n{front}---\n{body}"


def text(name: str, use: str = "Says hello.", body: str = "Do it.\n", more: str = "") -> str:
    return skill(f"name: {name}\ndescription: {use}\n{more}", body)


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode())
    return root


GOOD: Mapping[str, str] = {
    "plain": skill(f"name: plain\n{USE}"),
    "all-fields": skill(
        f"name: all-fields\n{USE}license: Apache-2.0\ncompatibility: Needs git and jq\n"
        'metadata:\n  author: example-org\n  version: "1.0"\nallowed-tools: Bash(git:*) Bash(jq:*) Read\n'
    ),
    "commas-in-tools": skill(f"name: commas-in-tools\n{USE}allowed-tools: Read, Bash(git:*), Grep\n"),
    "tools-in-a-list": skill(f"name: tools-in-a-list\n{USE}allowed-tools:\n  - Read\n  - Grep\n"),
    "folded": skill("name: folded\ndescription: >-\n  Says hello.\n  Use for greetings.\n"),
    "quoted-colon": skill('name: quoted-colon\ndescription: "Use when: somebody wants a greeting"\n'),
    "a-comment": skill(f"# who wrote this\nname: a-comment # its name\n{USE}"),
    "rules-in-body": skill(f"name: rules-in-body\n{USE}", "Above\n\n---\n\nBelow\n---\n"),
    "no-body": f"---\nname: no-body\n{USE}---",
    "windows-line-ends": skill(f"name: windows-line-ends\n{USE}").replace("\n", "\r\n"),
    "0123": skill(f"name: 0123\n{USE}"),
    "null": skill(f"name: null\n{USE}"),
    "n" * 64: skill(f"name: {'n' * 64}\n{USE}"),
    "description-of-1024": skill(f"name: description-of-1024\ndescription: {'d' * 1024}\n"),
    "compatibility-of-500": skill(f"name: compatibility-of-500\n{USE}compatibility: {'c' * 500}\n"),
    "grüße": skill(f"name: grüße\n{USE}"),
    "技能": skill(f"name: 技能\n{USE}"),
    "ends-with-blank": skill(f"name: ends-with-blank   \n{USE}"),
}  # fmt: skip

BAD: Mapping[str, str] = {
    "no-front-matter": "# Say hello\n",
    "empty": "",
    "not-closed": f"---\nname: not-closed\n{USE}",
    "byte-order-mark": "\ufeff" + skill(f"name: byte-order-mark\n{USE}"),
    "empty-front-matter": "---\n---\nBody\n",
    "unquoted-colon": skill("name: unquoted-colon\ndescription: Use when: somebody wants a greeting\n"),
    "a-tab": skill(f"\tname: a-tab\n{USE}"),
    "brackets": skill(f"name: brackets\n{USE}allowed-tools: [Read, Grep]\n"),
    "a-tag": skill(f"name: !!str a-tag\n{USE}"),
    "given-twice": skill(f"name: given-twice\n{USE}{USE}"),
    "no-name": skill(USE),
    "no-description": skill("name: no-description\n"),
    "empty-description": skill("name: empty-description\ndescription:\n"),
    "PDF-Processing": skill(f"name: PDF-Processing\n{USE}"),
    "-edge": skill(f"name: -edge\n{USE}"),
    "two--hyphens": skill(f"name: two--hyphens\n{USE}"),
    "under_score": skill(f"name: under_score\n{USE}"),
    "a blank": skill(f"name: a blank\n{USE}"),
    "n" * 65: skill(f"name: {'n' * 65}\n{USE}"),
    "other-folder": skill(f"name: another-name\n{USE}"),
    "path-as-name": skill(f"name: ../../etc/passwd\n{USE}"),
    "description-of-1025": skill(f"name: description-of-1025\ndescription: {'d' * 1025}\n"),
    "compatibility-of-501": skill(f"name: compatibility-of-501\n{USE}compatibility: {'c' * 501}\n"),
    "unknown-field": skill(f"name: unknown-field\n{USE}version: 1\n"),
    "model": skill(f"name: model\n{USE}model: inherit\n"),
}  # fmt: skip
