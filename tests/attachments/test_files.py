"""Which attached files of a thread are fetched, by whose they are, and where they are put; and only from GitHub's own
attachment hosts, by whole patterns."""

import hashlib
from pathlib import Path

import pytest

from bot.attachments.fetch import MAX_ATTACHED, AttachedFiles, Fetcher, FetchLimits, identity, site_of
from bot.attachments.selector import MAX_NAMED
from bot.contracts.request import Tier
from tests.attachments.conftest import LOG, World
from tests.support.loopback import Listener, Response


def test_a_maintainers_file_is_put_where_the_model_reads_and_listed(world: World):
    body = f"See [app.log]({world.file()}), or bare: {world.file('app.log')}."
    seen = world.look(world.request(body))
    log, other = seen.files
    assert Path(log.path).read_bytes() == LOG
    assert (log.name, log.place, log.size) == ("app.log", "the issue", len(LOG))
    assert log.sha256 == hashlib.sha256(LOG).hexdigest()
    assert seen.file_notes[0] == f"`app.log`, 14 bytes, in the issue: {log.path}"
    assert Path(other.path).relative_to(world.folder) == Path("attachments/2/app.log")
    assert seen.omitted == ()
    assert seen.request.thread is not None and seen.request.thread.body == body


def test_a08_a_strangers_file_is_fetched_only_where_the_policy_says_outsider(world: World):
    request = world.request(f"[x]({world.file(login='eve')})", "eve")
    seen = world.look(request)
    assert (seen.files, world.fetched()) == ((), [])
    words = "it is by eve, and the policy's `attachments` shows those of maintainer"
    assert seen.omitted == seen.file_notes == (f"The file `app.log` in the issue is left out: {words}.",)
    assert len(world.look(request, tiers={Tier.OUTSIDER}).files) == 1


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("> [x]({})", "it stands in a quotation"),
        ("- a\n > [x]({})", "it stands in a quotation"),
        ("`[x]({})`", ""),
        ("```\n[x]({})\n```", ""),
        ("https://evil.example/?u={}", ""),
    ],
)
def test_a08_of_a_quotation_of_code_or_from_another_host_nothing_is_fetched(
    world: World, body: str, why: str
):
    seen = world.look(world.request(body.format(world.file())))
    assert [why in line for line in seen.omitted] == ([True] if why else [])
    assert (seen.files, world.forge.requests) == ((), [])


def test_one_file_in_two_places_is_fetched_once(world: World):
    address = world.file()
    assert len(world.look(world.request(f"{address} {address}")).files) == 1
    assert len(world.fetched()) == 1


def test_more_than_there_is_room_for_are_named_up_to_a_number(world: World):
    body = " ".join(world.file() for _ in range(MAX_ATTACHED + 40))
    seen = world.look(world.request(body))
    assert len(seen.files) == len(world.fetched()) == MAX_ATTACHED
    assert len(seen.omitted) == MAX_NAMED + 1
    assert f"there is room for {MAX_ATTACHED}" in seen.omitted[0]
    assert seen.omitted[-1] == "Further attached files in the issue are left out: there are too many."


def test_too_many_bytes_are_not_taken(world: World):
    body = f"{world.file()} {world.file()}"
    assert "all together are over" in world.look(world.request(body), FetchLimits(together=20)).omitted[0]
    assert "it is over" in world.look(world.request(world.file()), FetchLimits(each=9)).omitted[0]


def test_what_cannot_be_had_is_said_and_the_next_one_comes(world: World):
    gone = world.file().replace("files/", "files/9")
    seen = world.look(world.request(f"{gone} {world.file()}"))
    assert "GitHub does not show it to us (404)" in seen.omitted[0]
    assert len(seen.files) == 1


@pytest.mark.parametrize("name", ["..", ".bashrc", "a/../../b", "%2e%2e%2fx", "\u202e.log"])
def test_a83_no_name_of_a_file_leads_elsewhere(tmp_path: Path, name: str):
    class Served(Fetcher):
        def get(self, address: str) -> bytes:
            return LOG

    files = AttachedFiles(tmp_path / "attachments", Served(site_of("https://github.com")))
    files.add(f"https://github.com/octo/hello/files/1/{name}", "the issue")
    path = Path(files.files[0].path)
    assert path.parent == tmp_path / "attachments" / "1"
    assert path.read_bytes() == LOG


def test_a_full_disk_leaves_nothing_half_written(world: World):
    (world.folder / "attachments").write_text("in the way")
    seen = world.look(world.request(world.file()))
    assert "it could not be written (" in seen.omitted[0]


def test_a08_a_redirect_to_another_host_is_not_followed(world: World):
    with Listener(lambda _: Response(200, LOG)) as elsewhere:
        headers = {"Location": f"{elsewhere.url}/app.log"}
        world.forge.fail_next("GET", "/user-attachments", 302, headers=headers, body=b"")
        seen = world.look(world.request(world.file()))
        assert "a host that is not known to be its own" in seen.omitted[0]
        assert elsewhere.requests == []


UUID = "0f0f0f0f-1111-4222-8333-444455556666"
UPLOAD = f"https://github.com/user-attachments/assets/{UUID}"
OLD = f"https://github.com/octo-org/hello.world/assets/583231/{UUID}"
PUBLIC = "https://user-images.githubusercontent.com/583231/92184555-74556c00-ee49-11ea.gif"
SIGNED = f"https://private-user-images.githubusercontent.com/1/2-{UUID}.png?jwt=eyJ0.eyJp-_.sig"
S3 = f"https://github-production-user-asset-6210df.s3.amazonaws.com/1/2-{UUID}.png?X-Amz-Signature=ab%2Fc"
OBJECTS = "https://objects.githubusercontent.com/github-production-user-asset/1/x?response=1"
SITE = site_of("https://github.com")
OWN = site_of("https://ghe.example.com/")


@pytest.mark.parametrize("address", [UPLOAD, OLD, PUBLIC, SIGNED])
def test_the_four_forms_are_attachments(address: str):
    assert SITE.is_picture(address)
    assert SITE.may_follow(address)


LOOKALIKES = [
    UPLOAD.replace("https:", "http:"),
    UPLOAD.replace("https:", "HTTPS:"),
    UPLOAD.replace("github.com", "github.com.evil.example"),
    UPLOAD.replace("github.com", "evil.example"),
    UPLOAD.replace("github.com", "github.com:443"),
    UPLOAD.replace("github.com", "github.com@evil.example"),
    UPLOAD.replace("github.com", "evil.example@github.com"),
    UPLOAD.replace("github.com", "github.com\\@evil.example"),
    UPLOAD.replace("github.com", "github.com%2eevil.example"),
    UPLOAD.replace("github.com", "ɡithub.com"),
    UPLOAD.replace("github.com", "GITHUB.com"),
    UPLOAD.replace("https://github.com", "https://github.com/../evil.example"),
    UPLOAD.replace("https:", ""),
    UPLOAD + "\n",
    UPLOAD + "#x",
    UPLOAD + "?redirect=https://evil.example",
    UPLOAD + "/../../login",
    UPLOAD.replace(UUID, UUID.upper()),
    UPLOAD.replace(UUID, UUID[:-1]),
    UPLOAD.replace(UUID, "..%2f" + UUID),
    OLD.replace("hello.world", ".."),
    OLD.replace("hello.world", "a/b"),
    OLD.replace("583231", "x"),
    OLD.replace("583231", "٣"),
    PUBLIC.replace("user-images.", "user-images.evil."),
    PUBLIC.replace(".githubusercontent.com", ".githubusercontent.com.evil.example"),
    PUBLIC.replace("583231/", "583231/../"),
    PUBLIC.replace("user-images", "raw"),
    PUBLIC.replace("user-images", "camo"),
    PUBLIC + "?x=1",
    SIGNED.replace("?jwt=", "?next=https://evil.example&jwt="),
    SIGNED + "&x=y",
    "https://raw.githubusercontent.com/o/r/main/a.png",
    "https://github.com/o/r/raw/main/a.png",
    "data:image/png;base64,AAAA",
    "file:///etc/passwd",
    "//github.com/user-attachments/assets/" + UUID,
    "javascript:alert(1)",
    S3,
    OBJECTS,
]


@pytest.mark.parametrize("address", LOOKALIKES)
def test_what_is_like_one_is_none(address: str):
    assert not SITE.is_picture(address)


def test_a_redirect_may_also_lead_to_githubs_stores_and_nowhere_else():
    assert SITE.may_follow(S3)
    assert SITE.may_follow(OBJECTS)
    for address in (
        S3.replace("6210df", "6210de"),
        S3.replace(".amazonaws.com", ".amazonaws.com.evil.example"),
        S3.replace("https:", "http:"),
        OBJECTS.replace(".com/", ".com:444/"),
        OBJECTS.replace("https://", "https://x@"),
        "https://github.com/login",
        "https://169.254.169.254/latest",
        "http://127.0.0.1/",
    ):
        assert not SITE.may_follow(address), address


def test_a_server_of_ones_own_has_itself_alone():
    upload = UPLOAD.replace("github.com", "ghe.example.com")
    stored = f"https://ghe.example.com/storage/user/5/files/{UUID}?token=AA.b-_="
    assert OWN.is_picture(upload)
    assert OWN.may_follow(stored)
    for address in (
        UPLOAD,
        PUBLIC,
        SIGNED,
        S3,
        upload.replace("ghe.", "ghe2."),
        upload.replace("/user", ":1/user"),
    ):
        assert not OWN.may_follow(address), address
    assert not OWN.is_picture("https://gheXexample.com/user-attachments/assets/" + UUID)


def test_the_signed_address_is_found_by_what_names_the_upload_and_not_by_its_place():
    other = SIGNED.replace(UUID, UUID.replace("0f", "0a"))
    assert SITE.signed_for(UPLOAD, [other, "https://evil.example/" + UUID, SIGNED]) == SIGNED
    assert SITE.signed_for(OLD, [other]) == ""
    assert SITE.signed_for(PUBLIC, [SIGNED]) == ""
    assert identity(SIGNED) == identity(UPLOAD) == UUID
    assert identity("https://x.example/?u=" + UUID) == ""
