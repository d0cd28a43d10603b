"""The job `prepare` of the workflow that `init` writes: CI's own set-up steps as they stand, in a job without secrets;
and what the agent's job repeats of them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from bot.ecosystems.registry import ecosystems
from bot.environment.detection_result import CIStep, Detection, source_of

TOOLS = {name: action for one in ecosystems() for name, action in one.actions.items()}
_SYSTEM = re.compile(r"(sudo )?(apt(-get)? (update|install)( [\w.+:~=-]+)*|corepack enable)")
_SUPERFLUOUS = ("dtolnay/rust-toolchain@", "actions-rs/", "softprops/")
"""Actions that zizmor would do without."""
_AS_IN_CI = "zizmor: ignore[adhoc-packages] as CI has it"
_NOT_RESTORED = "steps.slash-agent-restored.outputs.cache-hit != 'true'"
_PINNED = re.compile(r"[0-9a-f]{40}")


def prepare_steps(detected: Detection, *, restores: bool) -> str:
    """Return the steps of the job, each with a comment where it came from; those left out are comments. Empty if none
    is left. If the job `restores` what a push kept, none runs then."""
    if all(step.reason for step in detected.prepare):
        return ""
    lines: list[str] = []
    for step in detected.prepare:
        lines.append(f"      # {step.source}\n")
        if step.reason:
            lines.append(f"      #   left out: {source_of(step.name)}: {source_of(step.reason)}\n")
        else:
            name = step.name if step.name != step.raw.get("uses") else ""
            own = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", str(step.raw.get("if", "")).strip()).strip()
            condition = " && ".join([*([f"({own})"] if own else []), _NOT_RESTORED]) if restores else own
            # What these jobs install is not what CI's jobs would save.
            uses = str(step.raw.get("uses", "")).replace("actions/cache@", "actions/cache/restore@")
            lines.append(_rendered({"name": name, **step.raw, "uses": uses, "if": condition}))
    return "".join(lines)


def repeated_steps(detected: Detection) -> str:
    """Return what the agent's job repeats, before a secret is there: actions that are known to install a toolchain,
    with the inputs that choose it, literal installs of system packages, and Corepack's programs."""
    rendered = ("".join(_repeated(step)) for step in detected.prepare if not step.reason)
    return "".join(dict.fromkeys(rendered))


def _repeated(step: CIStep) -> Iterator[str]:
    uses, script = str(step.raw.get("uses", "")), str(step.raw.get("run", ""))
    name, _, version = uses.partition("@")
    lines = [line.strip() for line in re.split(r"\n|&&", re.sub(r"\s*\\\n\s*", " ", script))]
    system = [line for line in lines if _SYSTEM.fullmatch(line)]
    if any(re.search("install|corepack", line) for line in system):
        script = "\n".join(system)
        yield _rendered({"name": "System packages, as in CI", "run": script, "continue-on-error": True})
    tool = TOOLS.get(name)
    if tool is None:
        return
    pin = f"{version} # as in CI" if _PINNED.fullmatch(version) else tool.pin
    inputs = {
        **step.raw.get("with", {}),
        **{key.removesuffix("-file"): one for key, one in step.versions.items()},
    }
    if name == "dtolnay/rust-toolchain" and re.fullmatch(r"[\d.]+|beta|nightly[\d-]*", version):
        inputs = {"toolchain": version, **inputs}
    chosen = {key: value for key, value in inputs.items() if key in tool.inputs.split()}
    if not any("${{" in value for value in chosen.values()):
        title = f"Set up as CI does, by {name}"
        raw = {"name": title, "uses": f"{name}@{pin}", "with": {**chosen, **tool.off}}
        yield _rendered({**raw, "continue-on-error": True})  # without that tool the run says what is missing


def _rendered(raw: Mapping[str, Any]) -> str:
    """Return one step as YAML. Every value of the repository is a value there, whatever is in it."""
    action, _, comment = str(raw.get("uses", "")).partition(" # ")
    step = {key: value for key, value in {**raw, "uses": action}.items() if value}
    text = yaml.dump([step], Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    rules = [] if _PINNED.fullmatch(action.rpartition("@")[2]) else ["unpinned-uses"]
    rules += ["superfluous-actions"] if action.startswith(_SUPERFLUOUS) else []
    ignored = f"zizmor: ignore[{', '.join(rules)}] " if rules else ""
    if action:
        text = re.sub(r"(?m)^(.*\buses: .*)$", rf"\1 # {ignored}{comment or 'as CI has it'}", text, count=1)
    else:
        # CI installs what it likes; the comment may not become part of a script that goes on in the next line.
        commented = re.sub(r"(?m)^([ -] run: .*)$", rf"\1 # {_AS_IN_CI}", text, count=1)
        text = commented if yaml.safe_load(commented) == yaml.safe_load(text) else text
    return "".join(f"      {line}\n" if line else "\n" for line in text.splitlines())


class _Dumper(yaml.SafeDumper):
    """Scripts keep their lines, and what an action or a variable gets as the same text has no quotes: on which ones to
    use, formatters disagree."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    if re.fullmatch(r"true|false|0|[1-9]\d{0,14}", value):
        return dumper.represent_scalar("tag:yaml.org,2002:" + ("int" if value.isdigit() else "bool"), value)
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
