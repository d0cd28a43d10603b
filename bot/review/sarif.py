"""Convert the findings of a review to SARIF 2.1.0 (OASIS, 2023)."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from bot.contracts.pulls import Finding, Review, Severity, Side
from bot.review.known_findings import fingerprint

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_FINGERPRINT = "slashAgent/v1"
_LEVELS = dict(zip(Severity, ("error", "error", "warning", "note"), strict=True))
_RULES = {
    Severity.CRITICAL: "A defect that must not be merged",
    Severity.MAJOR: "A defect that will be met in use",
    Severity.MINOR: "A defect of small reach, or a trap for later",
    Severity.NOTE: "A remark without a defect",
}


def to_sarif(review: Review, version: str) -> str:
    """Return the log as deterministic JSON text. `version` is that of this program.

    A finding on the left side is on lines that are gone: its location is the file alone, and the deleted lines, with
    their text, are a related location in the base.
    """
    rules = [
        {
            "id": f"review/{severity}",
            "shortDescription": {"text": _RULES[severity]},
            "defaultConfiguration": {"level": _LEVELS[severity]},
        }
        for severity in Severity
    ]
    driver = {"name": "slash-agent", "version": version, "rules": rules}
    seen: Counter[str] = Counter()
    results = [_result(finding, seen, review.base_sha) for finding in review.findings]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "automationDetails": {"id": "slash-agent/review/"},
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository"}}},
        "results": results,
    }
    if review.summary or review.left_out:
        run["properties"] = {"summary": review.summary, "leftOut": list(review.left_out)}
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _result(finding: Finding, seen: Counter[str], base_sha: str) -> Mapping[str, Any]:
    """`seen` counts the fingerprints: a finding on equal code elsewhere gets another one."""
    own = finding.fingerprint or fingerprint(finding)
    seen[own] += 1
    location: dict[str, Any] = {"artifactLocation": _artifact(finding.path)}
    if _has_region(finding):
        location["region"] = {"startLine": finding.start_line or finding.line, "endLine": finding.line}
    result: dict[str, Any] = {
        "ruleId": f"review/{finding.severity}",
        "ruleIndex": list(Severity).index(finding.severity),
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.title}\n\n{finding.body}".rstrip()},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {_FINGERPRINT: own if seen[own] == 1 else f"{own}/{seen[own]}"},
    }
    if finding.side is Side.LEFT and finding.line:
        first, last = finding.lines
        region = {"startLine": first, "endLine": last, "snippet": {"text": finding.text}}
        deleted = {"artifactLocation": _artifact(finding.path), "region": region}
        message = {"text": f"Deleted lines {first}-{last} of {base_sha[:12]}"}
        result["relatedLocations"] = [{"physicalLocation": deleted, "message": message}]
    if finding.suggestion is not None and _has_region(finding):
        result["fixes"] = [_fix(finding, finding.suggestion)]
    return result


def _has_region(finding: Finding) -> bool:
    return finding.side is Side.RIGHT and finding.line > 0


def _fix(finding: Finding, suggestion: str) -> Mapping[str, Any]:
    region: dict[str, int] = {"startLine": finding.start_line or finding.line, "endLine": finding.line}
    if not suggestion:
        # Without columns a region does not include the end of its last line, and an empty line remains.
        region |= {"startColumn": 1, "endLine": finding.line + 1, "endColumn": 1}
    change = {
        "artifactLocation": _artifact(finding.path),
        "replacements": [{"deletedRegion": region, "insertedContent": {"text": suggestion}}],
    }
    return {"description": {"text": finding.title}, "artifactChanges": [change]}


def _artifact(path: str) -> Mapping[str, Any]:
    return {"uri": quote(path.encode(errors="surrogateescape")), "uriBaseId": "%SRCROOT%"}
