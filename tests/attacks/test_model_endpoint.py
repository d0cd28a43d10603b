"""The key and the conversation go to the server that the caller named, and nowhere else."""

import functools
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.model_script import Say, Status
from tests.support.model_server import ModelServer
from tests.support.provider_runs import MODELS, failed, run

CANARY = "leaked-by-a-variable"
PROGRAM = """
import json, sys
from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Message, Text
from bot.contracts.model import Complete, ModelRequest
from bot.providers.connect import connect
for variables in json.loads(sys.argv[2]):
    provider = connect(sys.argv[1], variables)
    request = ModelRequest("Be brief.", (), (Message("user", (Text("hello"),)),))
    last = provider.respond(request, CancelToken())
    assert isinstance(last, Complete), last
"""


@functools.cache
def variables(package: str) -> set[str]:
    """Every name in the package's source that looks like one of its variables."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    sources = Path(spec.origin).parent.rglob("*.py")
    pattern = re.compile(r"\"((?:ANTHROPIC|OPENAI|AZURE_OPENAI|AWS|GOOGLE_CLOUD|CLOUD_ML)_[A-Z_]+)\"")
    return {name for source in sources for name in pattern.findall(source.read_text("utf-8"))}


def value_of(name: str, elsewhere: str) -> str:
    if name.endswith(("_URL", "_ENDPOINT", "_PROXY")):
        return elsewhere
    if name.endswith("_HEADERS"):
        return f"X-Leak: {CANARY}\nauthorization: Bearer {CANARY}\nx-api-key: {CANARY}\nhost: {CANARY}"
    return "debug" if name.endswith("_LOG") else CANARY


@pytest.mark.parametrize(
    "model", [MODELS[1], *(pytest.param(model, marks=pytest.mark.slow) for model in (MODELS[0], MODELS[2]))]
)
def test_a102_no_variable_of_the_machine_changes_a_request(model: str):
    """With a key, and without one."""
    with ModelServer([Say("ok"), Say("ok")]) as server, ModelServer([Say("stolen")]) as elsewhere:
        named = variables("anthropic") | variables("openai") | {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
        assert {"ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS", "ANTHROPIC_BASE_URL"} <= named
        machine = {name: value_of(name, elsewhere.url) for name in named}
        keyed = server.environment()
        passed = [keyed, {name: value for name, value in keyed.items() if name.endswith("_URL")}]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, model, json.dumps(passed)],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2]), **machine},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert [one.headers.get("authorization") for one in server.requests] == ["Bearer test-key", None]
        assert elsewhere.requests == []
    own = {"authorization", "x-api-key", "anthropic-version", "user-agent", "host"}
    content = {"accept", "accept-encoding", "connection", "content-type", "content-length"}
    for request in server.requests:
        assert CANARY not in json.dumps(dict(request.headers)) + request.body.decode()
        assert set(request.headers) <= own | content


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("model", MODELS)
def test_a102_a_redirect_to_another_host_is_not_followed(model: str, status: int):
    with ModelServer([Say("stolen")]) as elsewhere:
        end, _ = run(model, [Status(status, headers={"Location": f"{elsewhere.url}/v1/messages"})])
        assert elsewhere.requests == []
    assert f"redirects to {elsewhere.url}" in failed(end).message
