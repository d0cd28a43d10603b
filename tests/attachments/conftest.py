"""A forge with people of several tiers, and what a run makes of the attachments of a request there."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bot.attachments.fetch import FILE_LIMITS, PICTURE_LIMITS, AttachedFiles, Fetcher, FetchLimits, site_of
from bot.attachments.redraw import RedrawnPicture
from bot.attachments.selector import AttachmentSelector, TextReader
from bot.contracts.request import Actor, Request, Thread, Tier
from bot.events.event_request import CommandSource
from bot.github.client import connect
from bot.github.retry import Pace
from bot.session.context.run import Attachments
from bot.session.event.attachments import collect_attachments
from slash_forge import Forge
from tests.attachments.pictures import plain

REPO = "octo/hello"
LOG = b"12:00 started\n"
PICTURE = plain()


@dataclass
class World:
    """ann may write, bob may triage, eve is a stranger; `pull` is a pull request of bob's."""

    forge: Forge
    pull: int
    token: str
    folder: Path = Path("unused")

    def picture(self, login: str = "ann", data: bytes = PICTURE) -> str:
        return self.forge.attach(REPO, login, data)

    def file(self, name: str = "app.log", login: str = "ann", data: bytes = LOG) -> str:
        return self.forge.attach_file(REPO, login, name, data)

    def request(self, body: str = "", login: str = "ann") -> Request:
        """A request about a new issue of `login`'s that says `body`."""
        number = self.forge.create_issue(REPO, login, "It is wrong", body)
        thread = Thread(number, "It is wrong", body, login, "")
        actor = Actor("ann", self.forge.add_user("ann"), Tier.MAINTAINER)
        return Request("fix", "this issue", actor, REPO, "main", "", thread=thread)

    def look(
        self,
        request: Request,
        limits: FetchLimits | None = None,
        bots: tuple[int, ...] = (),
        source: CommandSource | None = None,
        **terms: Any,
    ) -> Attachments:
        """The sandbox has tests of its own: here what was fetched is the picture."""
        site = site_of(self.forge.url)
        github = connect(self.token, self.forge.api_url, REPO, pace=Pace(0, sleep=lambda _: None))
        rules = {"tiers": {Tier.MAINTAINER}, "requester": request.actor.tier, **terms}
        files = AttachedFiles(self.folder / "attachments", Fetcher(site, limits or FILE_LIMITS))
        reader, fetcher = TextReader(github, request, bots), Fetcher(site, limits or PICTURE_LIMITS)
        looker = AttachmentSelector(site, reader, fetcher, drawn, files=files, **rules)
        return collect_attachments(request, looker, source)

    def fetched(self) -> list[str]:
        return [e.path for e in self.forge.requests if e.path.startswith("/storage")]


def drawn(data: bytes) -> RedrawnPicture:
    return RedrawnPicture("image/png", data, 40, 20)


@pytest.fixture(scope="package")
def shared() -> Iterator[World]:
    with Forge() as forge:
        for login in ("octo", "ann", "bob", "eve"):
            forge.add_user(login)
        forge.create_repository("octo", "hello")
        forge.grant(REPO, "ann", "write")
        forge.grant(REPO, "bob", "triage")
        forge.commit(REPO, {"a.txt": "".join(f"{n}\n" for n in range(9))})
        forge.commit(REPO, {"a.txt": "".join(f"{n}!\n" for n in range(9))}, branch="change")
        pull = forge.open_pull(REPO, "bob", "change", title="Words")
        permissions = {"issues": "read", "pull_requests": "read", "metadata": "read"}
        yield World(forge, pull, forge.token(permissions=permissions, repo=REPO))


@pytest.fixture
def world(shared: World, tmp_path: Path) -> World:
    shared.forge.requests.clear()
    return replace(shared, folder=tmp_path)
