"""A bundle: the names of its files, writing one, and reading one as hostile input.

A folder with an `outcome.json` is complete. Anybody with access to the run's job could have changed the artifact: file
names are fixed, links are refused, sizes are limited, and patch, review, plan and writes must match the hashes in the
outcome. The records are the schema of the JSON files, and unknown fields are refused. `outcome_schema` makes the JSON
Schema in docs/outcome.schema.json.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import from_json
from pydantic_core.core_schema import NamedTupleSchema

from bot.contracts.errors import AgentError, UsageError
from bot.contracts.outcome import SCHEMA_VERSION, Outcome
from bot.contracts.plan import Plan
from bot.contracts.pulls import Review
from bot.contracts.records import as_data
from bot.contracts.regular_files import read_regular
from bot.contracts.writes import Writes
from bot.publish.bundle_rules import invalid_field
from bot.verbs.registry import NAMES

OUTCOME = "outcome.json"
PATCH = "changes.patch"
WITHHELD = "withheld.patch"
MESSAGE = "message.md"
REVIEW = "review.json"
PLAN = "plan.json"
WRITES = "writes.json"
JOURNAL = "journal.jsonl"
REPORT = "report.html"

OUTCOME_LIMIT = 8 << 20
PATCH_LIMIT = 64 << 20
"""Maximum size in bytes: longer files are not read, and so not written."""


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Bundle(NamedTuple):
    """What the bundle in `folder` contains."""

    folder: Path
    outcome: Outcome
    patch: bytes = b""
    withheld: bytes = b""
    message: str = ""
    review: Review | None = None
    plan: Plan | None = None
    writes: Writes | None = None


class BundleWriteError(AgentError):
    """The bundle could not be written."""


def write_bundle(bundle: Bundle, journal: Path | None = None) -> None:
    """Write or replace `bundle` in its folder, and set the hashes of its files in the outcome there.

    `outcome.json` is removed first and written last, each file by rename: a folder that has one is complete.
    A `journal` that is already there under its own name is unchanged. Raises `BundleWriteError`.
    """
    folder = bundle.folder
    review, plan, writes = _dump(bundle.review), _dump(bundle.plan), _dump(bundle.writes)
    stated = bundle.outcome._replace(
        patch_sha256=sha256_of(bundle.patch),
        review_sha256=_sha256_if(review),
        plan_sha256=_sha256_if(plan),
        writes_sha256=_sha256_if(writes),
    )
    optional = {WITHHELD: bundle.withheld, REVIEW: review, PLAN: plan, WRITES: writes, REPORT: b""}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / OUTCOME).unlink(missing_ok=True)
        _put(folder, PATCH, bundle.patch)
        _put(folder, MESSAGE, bundle.message.encode(errors="replace"))
        for name, content in optional.items():
            if content:
                _put(folder, name, content)
            else:
                (folder / name).unlink(missing_ok=True)
        target = folder / JOURNAL
        if journal is not None and not (target.exists() and target.samefile(journal)):
            temporary = folder / f".{JOURNAL}.copy"
            shutil.copyfile(journal, temporary)
            os.replace(temporary, target)
        _put(folder, OUTCOME, _dump_within_limit(stated))
    except OSError as error:
        raise BundleWriteError(f"The bundle could not be written to {folder}: {error.strerror}.") from error


def _dump_within_limit(outcome: Outcome) -> bytes:
    """Leave out the thread's texts if they exceed the limit: publishing does not need them; the journal has them."""
    whole = _dump(outcome)
    request = outcome.request
    if len(whole) <= OUTCOME_LIMIT or request.thread is None:
        return whole
    left_out = (*request.thread.left_out, "the thread's texts are in the journal")
    shorter = request.thread._replace(body="", comments=(), left_out=left_out)
    return _dump(outcome._replace(request=request._replace(thread=shorter, unresolved=(), failures=())))


def _dump(value: Outcome | Review | Plan | Writes | None) -> bytes:
    if value is None:
        return b""
    text = json.dumps(as_data(value), indent=1, ensure_ascii=False, allow_nan=False)
    # As in the journal: readers of JSON refuse a lone surrogate.
    return text.encode(errors="replace") + b"\n"


def _sha256_if(content: bytes) -> str:
    return sha256_of(content) if content else ""


def _put(folder: Path, name: str, content: bytes) -> None:
    temporary = folder / f".{name}.new"
    temporary.write_bytes(content)
    temporary.replace(folder / name)


# Bytes.
_MESSAGE_LIMIT = 64 << 10
_PART_LIMIT = 16 << 20

_Value = TypeVar("_Value")


class BundleError(UsageError):
    """The folder is not a bundle, or somebody modified it."""


def read_bundle(folder: Path) -> Bundle:
    """Return the bundle in `folder`, its structure and hashes checked and its texts untrusted. Raises `BundleError` or
    `UsageError`, one sentence, if anything is invalid."""
    if folder.is_symlink():
        raise BundleError(f"The bundle cannot be read: {folder} is a symbolic link.")
    outcome = parse(Outcome, _read(folder, OUTCOME, OUTCOME_LIMIT))
    withheld = _read(folder, WITHHELD, PATCH_LIMIT) if os.path.lexists(folder / WITHHELD) else b""
    try:
        message = _read(folder, MESSAGE, _MESSAGE_LIMIT).decode()
    except UnicodeDecodeError as error:
        raise BundleError(f"{MESSAGE} in {folder} is not UTF-8.") from error
    return Bundle(
        folder,
        outcome,
        _read_stated(folder, PATCH, PATCH_LIMIT, outcome.patch_sha256),
        withheld,
        message,
        _part(folder, Review, outcome.review_sha256),
        _part(folder, Plan, outcome.plan_sha256),
        _part(folder, Writes, outcome.writes_sha256),
    )


def _part(folder: Path, kind: type[_Value], stated: str) -> _Value | None:
    raw = _read_stated(folder, _KINDS[kind][0], _PART_LIMIT, stated)
    return parse(kind, raw) if raw else None


def _read_stated(folder: Path, name: str, limit: int, stated: str) -> bytes:
    """Read a file that must exist if and only if the outcome states its hash; empty if there is none."""
    if not stated and not os.path.lexists(folder / name):
        return b""
    content = _read(folder, name, limit)
    if sha256_of(content) != stated:
        raise BundleError(f"{name} in {folder} is not the file that {OUTCOME} states: its hash differs.")
    return content


def _read(folder: Path, name: str, limit: int) -> bytes:
    try:
        data = read_regular(folder / name, limit + 1)
    except OSError as error:
        raise BundleError(f"The bundle cannot be read: {name} in {folder}: {error.strerror}.") from error
    if len(data) > limit:
        raise BundleError(
            f"The bundle cannot be read: {name} in {folder} is over the limit of {limit} bytes."
        )
    return data


# The file of each kind, what it is to be, and what is invalid in it beside its types.
_KINDS: Mapping[type, tuple[str, str, Callable[[Any], str]]] = {
    Outcome: (OUTCOME, "outcome", invalid_field),
    Review: (REVIEW, "review", invalid_field),
    Plan: (PLAN, "plan", lambda plan: str(plan.problem)),
    Writes: (WRITES, "list of writes", lambda writes: str(writes.problem)),
}


def parse(kind: type[_Value], raw: bytes, source: str = "") -> _Value:
    """Return the value. Raises `UsageError`, one sentence with the first invalid field and the `source` of the bytes,
    else the file's name."""
    file, what, wrong = _KINDS[kind]
    refused = f"{source or file} is not a valid {what}"
    try:
        data = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise _refusal(refused, f"not JSON ({error})") from error
    if not isinstance(data, dict):
        raise _refusal(refused, "not a JSON object")
    if file == OUTCOME and data.get("schema") != SCHEMA_VERSION:
        why = f"schema {data.get('schema')!r:.40}, and this version reads {SCHEMA_VERSION} only"
        raise _refusal(refused, why)
    try:
        value: _Value = _adapter(cast("Any", kind)).validate_json(raw, strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        why = "unknown field" if first["type"] == "extra_forbidden" else first["msg"]
        raise _refusal(refused, f"{'.'.join(map(str, first['loc']))[:80]}: {why}") from error
    if problem := wrong(value):
        raise _refusal(refused, problem)
    return value


_adapter = cache(TypeAdapter[Any])
"""Cached: it takes 70 ms."""


def _refusal(refused: str, why: str) -> UsageError:
    printable = "".join(c if c.isprintable() else "?" for c in why)
    return UsageError(f"{refused}: {printable}.")


URL = "https://raw.githubusercontent.com/slash-agent/slash-agent/v0/docs/outcome.schema.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Records(GenerateJsonSchema):
    """A record is an object, where pydantic describes a named tuple as an array."""

    def encode_default(self, dft: Any) -> Any:
        return super().encode_default(as_data(dft))

    def named_tuple_schema(self, schema: NamedTupleSchema) -> JsonSchemaValue:
        properties = {field["name"]: self.generate_inner(field["schema"]) for field in schema["fields"]}
        kind = schema["cls"]
        return {
            "title": kind.__name__,
            "description": kind.__doc__,
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name not in kind._field_defaults],
            "additionalProperties": False,
        }


def outcome_schema() -> dict[str, Any]:
    """Return the JSON Schema. Like the reader, it refuses unknown fields."""
    schema = TypeAdapter(Outcome).json_schema(mode="serialization", schema_generator=_Records)
    for described in (schema, *schema["$defs"].values()):
        if "description" in described:
            described["description"] = " ".join(described["description"].split())
    schema["$defs"]["Request"]["properties"]["verb"] = {"type": "string", "enum": list(NAMES)}
    schema["properties"]["schema"] = {"const": SCHEMA_VERSION}
    return {"$schema": _DIALECT, "$id": URL, **schema, "title": "outcome.json of Slash Agent"}


def as_text() -> str:
    return json.dumps(outcome_schema(), indent=2, ensure_ascii=False) + "\n"
