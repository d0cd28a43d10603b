"""Validate one SKILL.md against the Agent Skills specification and a few rules of our own.

A skill that is safe and useful is loaded although it violates the specification (an unknown field, a long
description); a finding says so. `slash-agent skills check` is strict.
"""

from __future__ import annotations

import re
import unicodedata

from bot.events.hygiene import clean
from bot.parsing.parser import Parser
from bot.skills import front_matter
from bot.skills.front_matter import FrontMatter
from bot.skills.grants import read_grants
from bot.skills.skill import CheckedSkill, Finding, Level, Origin, Skill, SkillFile

FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
MAX_DOCUMENT = 256 * 1024
"""Bytes of a SKILL.md: our own limit, as the next one: a name becomes a folder's, and those end at 255 bytes."""

# Words in the names of fields that limit by whom, when or with what a skill is used. A run implements none of these
# limits, so such a skill is not offered.
_LIMITING = re.compile(
    r"\b(?:agent|context|den(?:y|ied)|disabled?|disallow(?:ed)?|excluded?|forbidden|globs?|hooks?|only|paths?|permissions?"
    r"|platforms?|restrict(?:ed)?|sandbox|tools)\b"
)
_PERMITTING = re.compile(r"\b(?:enabled?|invocable|invocation|invoke)\b")
"""As `_LIMITING`, if the value is false."""
_MANUAL = "disable model invocation"
# There is no menu here from which people start a skill.
_NO_LIMIT = ("allowed tools", "user invocable")
_FALSE = ("false", "no", "off", "n", "0", "null", "~", "")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")

_MAX_NAME_BYTES = 200
_MAX_EXCERPT = 60
_SEPARATOR = re.compile(r"[\s,]+")


def check_document(
    data: bytes,
    source: str,
    folder: str,
    document: str,
    origin: Origin,
    *,
    files: tuple[SkillFile, ...] = (),
    parser: Parser | None = None,
) -> CheckedSkill:
    """Validate the bytes of `folder`/`document` in the source of that name. Never raises."""
    reader = _Reader(f"{source}/{folder}/{document}", parser)
    skill = reader.skill(data, folder, document, origin, files)
    findings = tuple(sorted(reader.findings, key=lambda finding: (finding.line, finding.rule)))
    refused = any(finding.level is Level.REFUSED for finding in findings)
    return CheckedSkill(folder, None if refused else skill, findings)


def split_tools(value: str) -> tuple[str, ...]:
    """Split an `allowed-tools` at blanks and commas outside parentheses."""
    tools: list[str] = []
    piece, depth = "", 0
    for character in value:
        if depth == 0 and _SEPARATOR.fullmatch(character):
            tools.append(piece)
            piece = ""
            continue
        depth = max(0, depth + (character == "(") - (character == ")"))
        piece += character
    return tuple(filter(None, [*tools, piece]))


class _Reader:
    """Reads one SKILL.md and collects findings."""

    def __init__(self, file: str, parser: Parser | None) -> None:
        self.findings: list[Finding] = []
        self._parser = parser
        self._file = file
        self._front = FrontMatter()

    def skill(
        self, data: bytes, folder: str, document: str, origin: Origin, files: tuple[SkillFile, ...]
    ) -> Skill | None:
        if len(data) > MAX_DOCUMENT:
            self._refuse(
                "size", 0, f"{document} is over {MAX_DOCUMENT // 1024} kB; move parts of it to references/"
            )
            return None
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            self._refuse("encoding", data[: error.start].count(b"\n") + 1, "this is not UTF-8")
            return None
        self._front = front_matter.read_front_matter(text, self._parser)
        for flaw in self._front.flaws:
            level = Level.REFUSED if flaw.fatal else Level.AGAINST
            self._add(flaw.rule, level, flaw.line, flaw.message)
        if self._front.unreadable:
            return None
        self._unknown_fields()
        name = self._name(folder.rpartition("/")[2])
        description = self._description()
        allowed = self._allowed_tools()
        return Skill(
            name,
            description,
            origin,
            folder,
            document,
            allowed,
            self._model(),
            self._compatibility(),
            files,
            self._limit(),
            self._manual(),
        )

    def _name(self, folder: str) -> str:
        value = self._front.fields.get("name")
        line = self._line("name")
        if not isinstance(value, str) or not value.strip():
            self._refuse("name-required", line, "a skill needs a `name`")
            return ""
        name = unicodedata.normalize("NFKC", value.strip())
        excerpt = ascii(name[:_MAX_EXCERPT])
        if len(name) > MAX_NAME:
            self._refuse(
                "name-length", line, f"the name has {len(name)} characters; at most {MAX_NAME} are allowed"
            )
        elif len(name.encode(errors="replace")) > _MAX_NAME_BYTES:
            self._refuse("name-length", line, f"the name is over {_MAX_NAME_BYTES} bytes long")
        if not all(character.isalnum() or character == "-" for character in name) or name != name.lower():
            self._refuse(
                "name-characters", line, f"{excerpt}: only lower-case letters, digits and hyphens are allowed"
            )
        if name.startswith("-") or name.endswith("-") or "--" in name:
            self._refuse("name-hyphens", line, f"{excerpt}: no hyphen at either end, and no two in a row")
        if unicodedata.normalize("NFKC", folder) != name:
            message = f"the name {excerpt} is not its folder's, {folder[:_MAX_EXCERPT]!a}"
            self._add("name-folder", Level.AGAINST, line, message)
        return name

    def _description(self) -> str:
        value = self._front.fields.get("description")
        line = self._line("description")
        if not isinstance(value, str) or not value.strip():
            self._refuse(
                "description-required",
                line,
                "a skill needs a `description`: what it does and when to use it",
            )
            return ""
        if len(value) > MAX_DESCRIPTION:
            message = f"the description has {len(value)} characters; at most {MAX_DESCRIPTION} are allowed"
            self._add("description-length", Level.AGAINST, line, message)
        visible = " ".join(clean(value).text.split())
        if not visible:
            self._refuse("description-required", line, "the description holds nothing that can be seen")
        return visible

    def _compatibility(self) -> str:
        if "compatibility" not in self._front.fields:
            return ""
        value, line = self._front.fields["compatibility"], self._line("compatibility")
        if not isinstance(value, str):
            self._add("compatibility", Level.AGAINST, line, "`compatibility` must be text")
            return ""
        if len(value) > MAX_COMPATIBILITY:
            message = f"`compatibility` has {len(value)} characters; at most {MAX_COMPATIBILITY} are allowed"
            self._add("compatibility", Level.AGAINST, line, message)
        if not value.strip():
            self._note("compatibility", line, "`compatibility` is empty; leave it out")
        return " ".join(clean(value[:MAX_COMPATIBILITY]).text.split())

    def _allowed_tools(self) -> tuple[str, ...]:
        value, line = self._front.fields.get("allowed-tools", ""), self._line("allowed-tools")
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            self._note("allowed-tools", line, "the specification has text here, parted by blanks, not a list")
            value = " ".join(value)
        if not isinstance(value, str):
            self._note("allowed-tools", line, "`allowed-tools` must be text; it grants nothing")
            return ()
        allowed = split_tools(value)
        for reason in read_grants(allowed).rejected:
            self._note("allowed-tools", line, reason)
        return allowed

    def _model(self) -> str:
        value = self._front.fields.get("model", "")
        return value.strip() if isinstance(value, str) else ""

    def _limit(self) -> str:
        """Return why the skill is not offered, as a clause: the first field that limits it."""
        for name, value in self._front.fields.items():
            words = _words(name)
            if words in (_MANUAL, *_NO_LIMIT):
                continue
            if (_PERMITTING if _is_false(value) else _LIMITING).search(words):
                return f"its field {name[:_MAX_EXCERPT]!a} limits its use, and a run cannot keep to that"
        return ""

    def _manual(self) -> bool:
        metadata = self._front.fields.get("metadata")
        fields = {**(metadata if isinstance(metadata, dict) else {}), **self._front.fields}
        return any(_words(name) == _MANUAL and not _is_false(value) for name, value in fields.items())

    def _unknown_fields(self) -> None:
        for name in self._front.fields:
            if name in FIELDS:
                continue
            message = f"the specification has no field {name[:_MAX_EXCERPT]!a}"
            if name == "when_to_use":
                message += "; it is ignored: say in the `description` when to use the skill"
            elif _words(name) == _MANUAL:
                message += "; it is read"
            elif name != "model":
                message += "; it is ignored: put it beneath `metadata`"
            self._add("unknown-field", Level.AGAINST, self._line(name), message)
        if isinstance(self._front.fields.get("metadata", {}), str | list):
            self._note("metadata", self._line("metadata"), "`metadata` should be fields of text")

    def _line(self, name: str) -> int:
        return self._front.lines.get(name, 1)

    def _refuse(self, rule: str, line: int, message: str) -> None:
        self._add(rule, Level.REFUSED, line, message)

    def _note(self, rule: str, line: int, message: str) -> None:
        self._add(rule, Level.NOTE, line, message)

    def _add(self, rule: str, level: Level, line: int, message: str) -> None:
        self.findings.append(Finding(rule, level, self._file, line, message))


def _words(field: str) -> str:
    """Return the words of a field's name, whether they are joined by hyphens, underscores or capitals."""
    return " ".join(_WORD.findall(field)).lower()


def _is_false(value: object) -> bool:
    return value.strip().lower() in _FALSE if isinstance(value, str) else not value
