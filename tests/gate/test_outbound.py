"""The door to GitHub: every field of every write passes it, and none of our own texts is changed by it."""

import ast
import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from github.InputGitTreeElement import InputGitTreeElement

import bot
from bot.contracts.errors import GateError
from bot.gate.outbound import OutboundFilter, connect
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.reviews import draft_comment
from tests.support.loopback import Listener, Request, Response
from tests.support.tables import writers

CANARY = "canary-7f3a91c2e5d84b60aa17"
BREAK = "\u200b"
OUT = OutboundFilter({"API_KEY": CANARY}, "https://git.example.org:8443")
HIDDEN = base64.b64encode(CANARY[::-1].encode()).decode()


@pytest.fixture(scope="module")
def received() -> Iterator[tuple[GitHub, list[Any]]]:
    """A client of a GitHub that takes everything and says nothing of use, and the JSON that came."""
    came: list[Any] = []

    def respond(request: Request) -> Response:
        came.append(json.loads(request.body or b"null"))
        return Response(201, b"{}")

    with Listener(respond) as server:
        client = connect("", server.url, "octo/hello", secrets={"API_KEY": CANARY})
        client.requester.pace.sleep = lambda _: None
        yield client, came


T = "TEXT"
WRITES: dict[str, dict[str, Any]] = {
    "create_comment": {"number": 1, "body": T},
    "edit_comment": {"comment_id": 1, "body": T},
    "delete_comment": {"comment_id": 1},
    "add_reaction": {"comment_id": 1, "content": "eyes"},
    "reply_to_review_comment": {"number": 1, "comment_id": 1, "body": T},
    "edit_review_comment": {"comment_id": 1, "body": T},
    "open_pull": {"title": T, "body": T, "head": T, "base": T, "draft": True},
    "edit_pull": {"number": 1, "title": T, "body": T},
    "request_review": {"number": 1, "login": T},
    "create_review": {"number": 1, "sha": T, "body": T, "event": "COMMENT", "drafts": [draft_comment(T, T, 1)]},
    "edit_review": {"number": 1, "review_id": 1, "body": T},
    "dismiss_review": {"number": 1, "review_id": 1, "message": T},
    "create_check_run": {"name": T, "head_sha": T, "title": T, "summary": T, "external_id": T},
    "create_blob": {"content": T},
    "create_tree": {"base_tree": T, "entries": [{"path": T, "mode": "100644", "type": "blob", "content": T}]},
    "create_commit": {"message": T, "tree": T, "parents": [T]},
    "create_issue": {"title": T, "body": T, "labels": [T]},
    "edit_issue": {"number": 1, "title": T, "body": T},
    "close_issue": {"number": 1, "reason": T},
    "add_labels": {"number": 1, "labels": [T]},
    "remove_label": {"number": 1, "label": "x"},
    "dispatch_workflow": {"workflow": "x.yml", "ref": T},
    "cancel_run": {"run_id": 1},
}  # fmt: skip


def test_every_write_of_the_client_is_tried_here():
    assert writers() == set(WRITES), "a new write: add it to WRITES"


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where `T` stands in a call's arguments."""
    if value == T:
        yield at
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*at, index))


def filled(value: Any, place: tuple[Any, ...], text: str) -> Any:
    if isinstance(value, dict):
        return {
            key: filled(inner, place[1:] if place[:1] == (key,) else ("-",), text)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [filled(one, place[1:] if place[:1] == (n,) else ("-",), text) for n, one in enumerate(value)]
    return (text if place == () else "plain") if value == T else value


FIELDS = [(name, place) for name, arguments in WRITES.items() for place in places(arguments)]


@pytest.mark.parametrize(
    "text", [f"see {CANARY}", HIDDEN, "ghp_" + "a1B2" * 9], ids=["plain", "disguised", "a token"]
)
@pytest.mark.parametrize(
    ("name", "place"), FIELDS, ids=lambda one: one if isinstance(one, str) else ".".join(map(str, one))
)
def test_a43_no_field_of_any_write_takes_a_secret_out(
    received: tuple[GitHub, list[Any]], name: str, place: tuple[Any, ...], text: str
):
    client, came = received
    came.clear()
    arguments = filled(WRITES[name], place, text)
    if name == "create_blob":
        arguments["content"] = text.encode()
    if name == "create_tree":
        arguments["entries"] = [InputGitTreeElement(**one) for one in arguments["entries"]]
    try:
        getattr(client, name)(**arguments)
    except GateError:
        assert came == []
        return
    except GitHubError:
        pass
    if place[-1] == "content" and name != "add_reaction" and text != f"see {CANARY}":
        return  # the content of a file is the diff gate's: what looks like a key may be a test's
    assert came
    assert text not in json.dumps(came)
    assert CANARY not in json.dumps(came)
    assert "withheld" in json.dumps(came).lower()


def test_a43_nothing_writes_but_through_the_gates_client():
    found = set()
    root = Path(bot.__file__).parent
    for path in root.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "bot.github" in text and "connect" in text else ():
            if not isinstance(node, ast.ImportFrom) or node.module not in ("bot.github", "bot.github.client"):
                continue
            if {"connect", "client"} & {name.name for name in node.names}:
                found.add(str(path.relative_to(root)))
    readers = {"session/context/github_env.py", "session/event/attachments.py", "cli/doctor.py"}
    assert found == {"gate/outbound.py"} | readers, "only clients that read are made without the gate"


# -- text


OWN = """**Done**

<details open><summary>Output of <code>make</code></summary>

```text
<b> ![x](y) <!-- code is left alone --> \u200b
```

</details>

| a | b |
| --- | --- |
| ✅ `make` | [run](https://git.example.org:8443/o/r/actions/runs/1) |

> [!IMPORTANT]
> **Not finished.** 🎉 ❤️\u200d🔥 می\u200cخواهم

<sub>model · 3 turns</sub>

<!-- slash-agent-plan-data eJw= -->

<!-- slash-agent progress request=1 state=on -->
"""


def test_what_we_write_ourselves_goes_out_as_it_is():
    assert OUT.markdown(OWN) == OWN


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("![x](y)", f"!{BREAK}[x](y)"),
        ("<img src=x>", f"<{BREAK}img src=x>"),
        ("<details onclick=x>", f"<{BREAK}details onclick=x>"),
        ("a<!-- hidden\nover lines -->b", "ab"),
        ("a<!-- unterminated", f"a<{BREAK}!-- unterminated"),
        ("a\u202eb\U000e0041c\x1b", "abc"),
        ("[x](https://evil.example)", f"[x]{BREAK}(https:{BREAK}//evil.example)"),
    ],
)
def test_what_slipped_through_is_broken(text: str, out: str):
    assert OUT.markdown(text) == out
    assert OUT.markdown(out) == out


def test_the_links_of_a_pull_request_are_left_to_its_template():
    text = "[our rules](https://cla.example.org/?a=b)"
    assert OUT("/repos/o/r/pulls", {"body": text}) == {"body": text}
    assert OUT("/repos/o/r/issues/1/comments", {"body": text}) != {"body": text}


def test_a_withheld_text_keeps_the_mark_it_is_found_by():
    text = f"{CANARY}\n\n<!-- slash-agent progress request=1 -->\n"
    out = OUT.markdown(text)
    assert out == "(Withheld: it holds the value of API_KEY.)\n\n<!-- slash-agent progress request=1 -->\n"


def test_a_commit_message_keeps_its_trailers():
    message = (
        "Fix it\n\nCo-authored-by: ada <1+ada@users.noreply.github.com>\nSigned-off-by: b <bot@example.org>\n"
    )
    assert OUT("/repos/o/r/git/commits", {"message": message}) == {"message": message}


def test_a_name_is_never_changed_and_stops_the_write():
    with pytest.raises(GateError, match=r"The field head .* does not show"):
        OUT("/repos/o/r/pulls", {"head": "agent/x\u200b"})
    with pytest.raises(GateError, match=r"The field labels .* holds the value of API_KEY"):
        OUT("/repos/o/r/issues/1/labels", {"labels": [CANARY]})
    assert OUT("/x", {"head": "agent/issue-1-fix", "draft": True, "n": 1, "x": None}) == {
        "head": "agent/issue-1-fix",
        "draft": True,
        "n": 1,
        "x": None,
    }


@pytest.mark.parametrize("piece", ["<!--", "<", "![", "<details", "`", "](", "<!-- a -->"])
def test_a_long_text_costs_linear_time(piece: str):
    door = OutboundFilter({})
    started = time.process_time()
    door.markdown(piece * (100_000 // len(piece)))
    assert time.process_time() - started < 2.5


def test_a60_a_link_to_a_thread_of_another_repository_does_not_leave():
    text = "https://github.com/o/r/pull/1 and [x](https://github.com/other/r/issues/2)"
    for path in ("/repos/o/r/issues/3/comments", "/repos/o/r/pulls/4"):
        sent = OUT(path, {"body": text})
        assert isinstance(sent, dict)
        assert "https://github.com/o/r/pull/1" in sent["body"]
        assert "https://github.com/other" not in sent["body"]
