"""Hostile text on its way into the model (A-01 to A-08)."""

import base64

import pytest

from slash_forge.bundled import MAINTAINER, REPORTER
from tests.attachments.pictures import plain
from tests.support.loopback import Listener, Response
from tests.support.model_script import Say
from tests.support.stage import Stage

pytestmark = pytest.mark.bubblewrap


def test_a08_no_other_host_sees_a_request_and_a_strangers_picture_is_not_looked_at(stage: Stage):
    """Under an issue of a stranger's, a maintainer asks: what is shown is the maintainer's own picture alone."""
    theirs, ours = plain(30, 10), plain(50, 20)
    forge, repo = stage.forge, stage.repo
    with Listener(lambda _: Response(200, theirs, {"Content-Type": "image/png"})) as elsewhere:
        port = elsewhere.port
        upload = forge.attach(repo, REPORTER, theirs)
        name = upload.rpartition("/")[2]
        body = f"""It is wrong.
![stranger]({upload})
![plain]({elsewhere.url}/a.png) <img src="{elsewhere.url}/b.png"> ![ref][one]
![port]({upload.replace(str(forge.url), elsewhere.url)})
![user](http://x@127.0.0.1:{port}/user-attachments/assets/{name})
![backslash]({forge.url}\\@127.0.0.1:{port}/user-attachments/assets/{name})
![path]({forge.url}/{elsewhere.url}/assets/1/{name})
![file](file:///etc/passwd) ![data](data:image/png;base64,AAAA) ![mail](//127.0.0.1:{port}/c.png)

[one]: {elsewhere.url}/d.png
"""
        number = forge.create_issue(repo, REPORTER, "Wrong", body)
        sent_on = forge.attach(repo, MAINTAINER, ours)
        away = {"Location": f"{elsewhere.url}/f.png"}
        forge.fail_next("GET", sent_on.rpartition("/")[2], 302, headers=away, body=b"")
        mine = f"![mine]({forge.attach(repo, MAINTAINER, ours)}) ![sent on]({sent_on})"
        event = stage.ask(f"/agent explain this\n\n{mine} ![x]({elsewhere.url}/e.png)", number=number)
        result = stage.run(model=[Say("It shows a sum.")], event=event)
        assert result.code == 0, result.output
        [request] = result.requests
        assert elsewhere.requests == []
    fetched = [e for e in forge.requests if e.path.startswith(("/user-attachments", "/storage"))]
    assert [e.status for e in fetched] == [200, 302]
    assert [e.login for e in fetched] == ["", ""]
    parts = request.json["messages"][0]["content"]
    images = [part for part in parts if part["type"] == "image"]
    assert len(images) == 1
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    assert "[this is picture 1]" in text
    assert text.count("[image not shown: it is not an attachment on GitHub]") >= 9
    assert f"it is by {REPORTER}, and the policy's `attachments` shows those of maintainer" in text


def test_a02_a_stolen_secret_is_not_posted_back_under_two_encodings(stage: Stage):
    """A-02, "comment and control": the model has the job's token somehow and answers with it, encoded twice."""
    token = stage.sample.run_token
    stolen = f"HOME=/root\nGITHUB_TOKEN={token}\n".encode()
    twice = base64.b64encode(base64.b64encode(stolen)).decode()
    mixed = base64.b64encode(stolen.hex().encode()).decode()
    result = stage.run(
        model=[Say(f"Here is why:\n\n{twice}\n\n{mixed}")], event=stage.ask("/agent explain this")
    )
    published = stage.publish(GITHUB_TOKEN=stage.sample.publish_token)
    assert (result.code, published.code) == (0, 0), result.output + published.output
    assert any("withheld" in body for body in stage.bot_comments())
    files = [path.read_text(errors="replace") for path in stage.bundle.iterdir()]
    for text in (result.output, published.output, *files, *stage.bot_comments()):
        assert twice[24:48] not in text and mixed[24:48] not in text
