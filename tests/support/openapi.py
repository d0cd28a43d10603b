"""Exchanges held against GitHub's own description of its API: the request sent and the answer it got.

The description is npm's `@octokit/openapi`. What it gets wrong about GitHub is in `_FALSE_ALARMS`, each with
its reason; everything else that differs is a fault of the forge or of its client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote

from jsonschema.validators import Draft4Validator, extend
from openapi_schema_validator import (
    OAS30Validator,
    OAS31Validator,
    oas30_format_checker,
    oas31_format_checker,
)
from referencing import Registry
from referencing.jsonschema import DRAFT4, DRAFT202012

from slash_forge.faults import Exchange
from tests.support.npm import package_file

_API = "/api/v3"
_SPEC = "urn:github"
# What any operation may answer, whether its description says so or not.
_EVERYWHERE = {"304", "401", "403", "404", "409", "410", "422", "429", "500", "502", "503"}

_DELETED_FORK = "the description forgets that a deleted fork leaves null here; the webhooks' one does not"

_OUTDATED = (
    "the description forgets that outdated comments and those on files have null here; the webhooks' does not"
)

# (operation, where, reason): a finding whose operation is the first, or any for "*", and whose text matches
# the second, is not one.
_FALSE_ALARMS = (
    ("issues/add-labels", r"request body: .* is not of type 'object'",
     "GitHub takes a bare list of names as well, which is what PyGithub sends"),
    ("issues/set-labels", r"request body: .* is not of type 'object'",
     "GitHub takes a bare list of names as well, which is what PyGithub sends"),
    *(
        (operation, r"response: (\d+/)?(line|original_line|position): None", _OUTDATED)
        for operation in (
            "pulls/get-review-comment", "pulls/list-review-comments", "pulls/list-review-comments-for-repo",
            "pulls/list-comments-for-review", "pulls/create-review-comment",
            "pulls/create-reply-for-review-comment", "pulls/update-review-comment",
        )
    ),
    ("search/issues-and-pull-requests", r"response: items/\d+/body: None",
     "the description forgets that what has no text has null here; that of issues does not"),
    ("git/create-blob", r"response: \(top\): \{'message'",
     "the description wants exactly one of two shapes, and every error is both"),
    ("pulls/get", r"response: head/repo: None", _DELETED_FORK),
    ("pulls/list", r"response: \d+/head/repo: None", _DELETED_FORK),
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    operation: str
    exchange: str
    message: str

    def __str__(self) -> str:
        return f"{self.operation}: {self.exchange}: {self.message}"


def findings(exchanges: Iterable[Exchange]) -> list[Finding]:
    """What is wrong with these exchanges. Git's own and pages for people are passed over."""
    description = _description()
    results = []
    for exchange in exchanges:
        if exchange.path.startswith(_API) and exchange.status:
            results += description.check(exchange)
    return results


def operations(exchanges: Iterable[Exchange]) -> set[str]:
    """The ids of the operations that were called."""
    description = _description()
    matched = (description.operation(e.method, e.path) for e in exchanges if e.path.startswith(_API))
    return {operation.id for operation in matched if operation}


def webhook_errors(name: str, payload: object) -> list[str]:
    """What is wrong with a delivered event's payload; `name` is such as `issue-comment-created`."""
    description = _webhooks()
    registry = Registry().with_resource(_SPEC, DRAFT202012.create_resource(description))
    pointer = f"{_SPEC}#/webhooks/{name}/post/requestBody/content/application~1json/schema"
    validator = OAS31Validator({"$ref": pointer}, registry=registry, format_checker=oas31_format_checker)
    return [_message(error) for error in validator.iter_errors(payload)]


@cache
def _webhooks() -> Any:
    path = package_file(
        "@octokit/openapi-webhooks",
        "12.1.0",
        "generated/api.github.com.json",
        "0a86fcfad6f38c696f2f1967311e61a4009adca58adac52d7df52e003d187b26",
    )
    return json.loads(path.read_text())


@cache
def _description() -> Description:
    path = package_file(
        "@octokit/openapi",
        "23.0.2",
        "generated/api.github.com.json",
        "829b4bebb19a53133289f7b0bc819f4f1118115821db2ca9f25e9ee995a7da2a",
    )
    return Description(json.loads(path.read_text()))


def _read_as_meant(keyword: str) -> Any:
    """Two things the validator takes literally and GitHub does not.

    `nullable: true` beside `enum`, `oneOf` and the like means null too; and a discriminator says nothing about
    a list, which has no properties (the contents of a folder are such an alternative).
    """
    original, plain = OAS30Validator.VALIDATORS[keyword], Draft4Validator.VALIDATORS[keyword]

    def check(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
        if instance is None and schema.get("nullable"):
            return iter(())
        chosen = plain if isinstance(instance, list) else original
        return chosen(validator, value, instance, schema) or iter(())

    return check


_Validator = extend(OAS30Validator, {key: _read_as_meant(key) for key in ("enum", "oneOf", "anyOf", "allOf")})


@dataclass(frozen=True)
class Operation:
    id: str
    pointer: str
    data: Mapping[str, Any]


class Description:
    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._registry = Registry().with_resource(_SPEC, DRAFT4.create_resource(data))
        self._patterns = sorted(self._compiled(), key=lambda row: row[0])

    def _compiled(self) -> Iterator[tuple[tuple[int, int, int], re.Pattern[str], str]]:
        """Templates with fewer parameters are tried first: `/issues/comments` before `/issues/{number}`.

        Then the longer ones: `/commits/{ref}/status` before `/commits/{ref}`, whose parameter may hold slashes.
        """
        for template, item in self._data["paths"].items():
            several = set()
            for method in item.values():
                for parameter in method.get("parameters", []):
                    resolved = self._resolve(parameter)
                    if resolved.get("x-multi-segment"):
                        several.add(resolved["name"])
            parts = re.split(r"\{([^}]+)\}", template)
            literal = (re.escape(part) for part in parts[::2])
            pattern = next(literal)
            for name in parts[1::2]:
                # An empty path is the root folder.
                many = ".*" if name == "path" else ".+"
                pattern += f"(?P<{name.replace('-', '_')}>{many if name in several else '[^/]+'})" + next(
                    literal
                )
            yield (len(several), len(parts), -len(template)), re.compile(pattern), template

    def operation(self, method: str, path: str) -> Operation | None:
        for _, pattern, template in self._patterns:
            item = self._data["paths"][template]
            if method.lower() in item and pattern.fullmatch(path.removeprefix(_API)):
                pointer = f"/paths/{template.replace('~', '~0').replace('/', '~1')}/{method.lower()}"
                data = item[method.lower()]
                return Operation(data["operationId"], pointer, data)
        return None

    # -- one exchange

    def check(self, exchange: Exchange) -> list[Finding]:
        operation = self.operation(exchange.method, exchange.path)
        where = f"{exchange.method} {exchange.path} {exchange.status}"
        if operation is None:
            return (
                [] if exchange.status == 404 else [Finding("(none)", where, "not an operation of GitHub's")]
            )
        messages = [*self._query(operation, exchange), *self._response(operation, exchange)]
        if exchange.status < 400:
            # What GitHub refuses need not be well-formed.
            messages += self._request(operation, exchange)
        return [
            Finding(operation.id, where, message)
            for message in messages
            if not any(
                known in ("*", operation.id) and re.search(pattern, message)
                for known, pattern, _ in _FALSE_ALARMS
            )
        ]

    def _query(self, operation: Operation, exchange: Exchange) -> Iterator[str]:
        known = {
            parameter["name"]
            for parameter in map(self._resolve, operation.data.get("parameters", []))
            if parameter["in"] == "query"
        }
        for name, _ in parse_qsl(exchange.query, keep_blank_values=True):
            if name not in known:
                yield f"query: {name} is not a parameter"

    def _request(self, operation: Operation, exchange: Exchange) -> Iterator[str]:
        body = self._resolve(operation.data.get("requestBody", {}))
        if not exchange.request_body:
            if body.get("required"):
                yield "request body: missing"
            return
        value = json.loads(exchange.request_body)
        pointer = self._media(self._pointer(f"{operation.pointer}/requestBody"), "application/json")
        if pointer is None:
            yield "request body: none is described"
            return
        yield from (f"request body: {error}" for error in self._errors(pointer, value))
        known = self._properties(self._at(pointer))
        if isinstance(value, dict) and known is not None:
            yield from (f"request body: {name} is not a field" for name in value if name not in known)

    def _response(self, operation: Operation, exchange: Exchange) -> Iterator[str]:
        status = str(exchange.status)
        described = status in operation.data["responses"]
        if not described and status not in _EVERYWHERE:
            yield f"response: status {status} is not one of {sorted(operation.data['responses'])}"
            return
        kind = exchange.headers.get("Content-Type", "").partition(";")[0]
        if not exchange.body:
            if described and kind:
                yield "response: no body, yet a content type"
            return
        if kind != "application/json":
            return
        pointer = None
        if described:
            pointer = self._media(self._pointer(f"{operation.pointer}/responses/{status}"), kind)
        if pointer is None:
            if exchange.status < 400:
                yield f"response: no JSON body is described for {status}"
                return
            pointer = "/components/schemas/basic-error"
        yield from (f"response: {error}" for error in self._errors(pointer, json.loads(exchange.body)))

    # -- the document

    def _errors(self, pointer: str, value: object) -> list[str]:
        validator = _Validator(
            {"$ref": f"{_SPEC}#{pointer}"}, registry=self._registry, format_checker=oas30_format_checker
        )
        return [_message(error) for error in validator.iter_errors(value)]

    def _media(self, pointer: str, kind: str) -> str | None:
        if "schema" not in self._at(pointer).get("content", {}).get(kind, {}):
            return None
        return f"{pointer}/content/{kind.replace('/', '~1')}/schema"

    def _properties(self, schema: Mapping[str, Any]) -> set[str] | None:
        """The fields an object may have; None where the description leaves that open."""
        schema = self._resolve(schema)
        if schema.get("additionalProperties") or not schema.get("properties"):
            return None
        return set(schema["properties"])

    def _pointer(self, pointer: str) -> str:
        """Where a pointer leads once the reference at its end is followed."""
        target = self._at(pointer, missing={})
        while "$ref" in target:
            pointer = target["$ref"].removeprefix("#")
            target = self._at(pointer)
        return pointer

    def _at(self, pointer: str, missing: Any = None) -> Any:
        value: Any = self._data
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if missing is not None and key not in value:
                return missing
            value = value[key]
        return value

    def _resolve(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in value:
            value = self._at(value["$ref"].removeprefix("#"))
        return value


def _message(error: Any) -> str:
    """The error, or the part of a failed alternative that came closest."""
    where = "/".join(str(part) for part in error.absolute_path) or "(top)"
    text = f"{where}: {error.message[:200]}"
    for inner in error.context or []:
        text += f" | {'/'.join(str(part) for part in inner.absolute_path)}: {inner.message[:120]}"
    return text
