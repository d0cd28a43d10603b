"""Which pictures of a thread are shown, by whose they are, and that nobody is asked for the others."""

import gzip
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bot.attachments.fetch import PICTURE_LIMITS, Fetcher, FetchLimits, Omitted, site_of
from bot.attachments.markdown import addresses_in, pictures_in, sources_in
from bot.attachments.selector import MAX_NAMED, MAX_PICTURES
from bot.contracts.pulls import Comment, ReviewThread, Side
from bot.contracts.request import Actor, Thread, Tier
from bot.events.event_request import CommandSource
from bot.github.values import TextKind
from bot.session.context.run import Attachments
from tests.attachments.conftest import PICTURE, REPO, World
from tests.attachments.pictures import plain

WRITERS = frozenset({Tier.MAINTAINER})


def text_of(seen: Attachments) -> str:
    assert seen.request.thread is not None
    return seen.request.thread.body


def test_a_maintainers_picture_is_shown_and_the_text_says_which_it_is(world: World):
    body = f"Look: ![a wrong sum]({world.picture()}) There."
    seen = world.look(world.request(body))
    [image] = seen.images
    assert (image.media_type, image.data, image.name) == ("image/png", PICTURE, "picture 1")
    assert text_of(seen) == body.replace(") There", ") [this is picture 1] There")
    assert seen.image_notes == ("picture 1, in the issue, 40 × 20",)
    assert seen.omitted == ()


@pytest.mark.parametrize(("tiers", "number"), [(WRITERS, 0), ({Tier.CONTRIBUTOR}, 1), ({Tier.OUTSIDER}, 0)])
def test_who_wrote_the_text_decides_and_not_who_asked(world: World, tiers: set[Tier], number: int):
    seen = world.look(world.request(f"![x]({world.picture('bob')})", "bob"), tiers=tiers)
    assert len(seen.images) == number
    assert len(world.fetched()) == number
    if not number:
        (allowed,) = tiers
        assert f"it is by bob, and the policy's `attachments` shows those of {allowed.value}" in text_of(seen)


def test_a_login_that_passed_to_another_account_counts_for_nothing(world: World):
    """GitHub's word on a text and on what an account may must be of one id."""
    request = world.request(f"![x]({world.picture()})")
    issue = f"/issues/{request.thread and request.thread.number}$"
    text = request.thread and request.thread.body
    body = {"user": {"login": "ann", "id": 1, "type": "User"}, "body": text, "body_html": ""}
    world.forge.fail_next("GET", issue, 200, body=body)
    seen = world.look(request)
    assert seen.images == ()
    assert "it is by ann, and the policy" in text_of(seen)


def test_a_bot_is_nobody_unless_it_is_listed_by_id(world: World):
    number = world.forge.add_user("helper[bot]", kind="Bot")
    request = world.request(f"![x]({world.picture()})", "helper[bot]")
    assert world.look(request, tiers={Tier.BOT}).images == ()
    assert len(world.look(request, tiers={Tier.BOT}, bots=(number,)).images) == 1
    assert world.look(request, bots=(number,)).images == ()


def test_a_private_repositorys_picture_is_fetched_at_its_signed_address_without_the_token(world: World):
    world.forge.make_private(REPO)
    try:
        seen = world.look(world.request(f"![x]({world.picture()})"))
    finally:
        world.forge._state.repositories[REPO].private = False
    assert len(seen.images) == 1
    [fetched] = [e for e in world.forge.requests if e.path.startswith("/storage")]
    assert fetched.status == 200
    assert fetched.login == ""
    assert not any("authorization" in name or "cookie" in name for name in fetched.request_headers)


def test_each_kind_of_text_is_read_where_it_stands(world: World):
    """Ids of comments, reviews and review comments are of different name spaces."""
    forge, number = world.forge, world.pull
    addresses = [world.picture(data=plain(n, 9)) for n in range(1, 5)]
    said = [f"![x]({address})" for address in addresses]
    comment, _ = forge.comment(REPO, number, "ann", said[0])
    command, _ = forge.comment(REPO, number, "ann", f"/agent fix {said[3]}")
    review = forge.review(REPO, number, "ann", body=said[1])
    on_line = forge.review_comment(REPO, number, "ann", "a.txt", 2, body=said[2])
    comments = (
        Comment(comment, "ann", said[0], "", ""),
        Comment(review, "ann", f"(A review: commented.) {said[1]}", "", "", of_review=True),
    )
    lines = ReviewThread(on_line, "a.txt", 2, 0, Side.RIGHT, "", (Comment(on_line, "ann", said[2], "", ""),))
    request = world.request()._replace(
        instruction=said[3],
        thread=Thread(number, "Words", "", "bob", "", comments, is_pull_request=True),
        unresolved=(lines,),
    )
    seen = world.look(request, source=CommandSource(TextKind.COMMENT, command, ""))
    assert [one.partition(", 40")[0] for one in seen.image_notes] == [
        "picture 1, in what was asked",
        f"picture 2, in the comment {comment}",
        f"picture 3, in the review {review}",
        f"picture 4, in the review comment {on_line}",
    ]
    assert [image.data for image in seen.images] == [plain(n, 9) for n in (4, 1, 2, 3)]
    assert seen.request.instruction.endswith("[this is picture 1]")
    assert seen.request.unresolved[0].comments[0].body.endswith("[this is picture 4]")


def test_what_a_dispatch_asks_is_answered_for_by_whoever_started_it(world: World):
    request = world.request()._replace(instruction=f"![x]({world.picture()})")
    assert len(world.look(request).images) == 1
    assert world.look(request._replace(actor=Actor("s", 0, Tier.SCHEDULE))).images == ()


def test_one_picture_in_two_places_is_one_and_each_place_is_judged(world: World):
    address = world.picture()
    by_ann, by_eve = (
        world.request(f"![x]({address}) ![y]({address})"),
        world.request(f"![x]({address})", "eve"),
    )
    assert text_of(world.look(by_ann)).count("[this is picture 1]") == 2
    assert world.look(by_eve).images == ()


def test_a_quoted_picture_may_be_another_persons(world: World):
    seen = world.look(world.request(f"> ![x]({world.picture('eve')})\n\nI see it too."))
    assert "it stands in a quotation" in text_of(seen)
    assert world.forge.requests == []


def test_an_address_that_is_in_the_text_no_more_is_not_fetched(world: World):
    request = world.request("nothing")
    thread = request.thread._replace(body=f"![x]({world.picture()})")
    seen = world.look(request._replace(thread=thread))
    assert "it is not in the text any more" in text_of(seen)
    assert world.fetched() == []


def test_a_model_that_cannot_see_gets_the_word_and_nobody_is_asked(world: World):
    seen = world.look(world.request(f"![alt]({world.picture()})"), blind=True)
    assert text_of(seen).endswith(") [image not shown: this model cannot see images]")
    assert world.forge.requests == []


def test_where_the_policy_shows_nobodys_nobody_is_asked(world: World):
    seen = world.look(world.request(f"![alt]({world.picture()})"), tiers=frozenset())
    assert "the policy's `attachments` allows nobody's" in text_of(seen)
    assert world.forge.requests == []


def test_more_than_there_is_room_for_are_named(world: World):
    body = " ".join(f"![{n}]({world.picture(data=plain(n + 1, 5))})" for n in range(MAX_PICTURES + 2))
    seen = world.look(world.request(body))
    assert len(seen.images) == MAX_PICTURES
    assert text_of(seen).count(f"there is room for {MAX_PICTURES}") == 2
    assert len(world.fetched()) == MAX_PICTURES


def test_a_text_of_thousands_of_images_grows_by_little_and_asks_nobody(world: World):
    request = world.request("![](x)" * 4_000)
    seen = world.look(request)
    assert text_of(seen).count("[image not shown") == MAX_NAMED
    assert text_of(seen).endswith(f"[{4_000 - MAX_NAMED:,} further images not shown: there are too many]")
    assert len(text_of(seen)) < 24_000 + 3_000
    assert world.forge.requests == []


def test_too_many_bytes_are_not_taken(world: World):
    one, two = world.picture(data=bytes(600)), world.picture(data=bytes(601))
    seen = world.look(world.request(f"![x]({one}) ![y]({two})"), FetchLimits(each=600, together=10_000))
    assert len(seen.images) == 1
    assert ") [image not shown: it is over" in text_of(seen)
    both = world.look(world.request(f"![x]({one}) ![y]({two})"), FetchLimits(each=1_000, together=1_000))
    assert len(both.images) == 1
    assert "all together are over" in text_of(both)


def test_what_takes_too_long_is_left(world: World):
    ticks = iter(range(0, 10_000, 50))
    seen = world.look(world.request(f"![x]({world.picture()})"), clock=lambda: next(ticks), seconds=40)
    assert "there was no time left for it" in text_of(seen)


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/user-attachments|/storage", 404, "GitHub does not show it to us (404)"),
        ("/user-attachments|/storage", 502, "GitHub answered 502"),
        ("/issues/", 404, "GitHub did not say who wrote it"),
        ("/issues/", 422, "GitHub did not say who wrote it"),
        ("/collaborators/", 422, "GitHub did not say what its author may"),
    ],
)
def test_what_github_does_not_give_is_said_and_the_run_goes_on(
    world: World, path: str, status: int, said: str
):
    world.forge.fail_next("GET", path, status)
    seen = world.look(world.request(f"![x]({world.picture()})"))
    assert seen.images == ()
    assert f"[image not shown: {said}" in text_of(seen)
    assert world.forge.faults_waiting == 0


def test_a_connection_that_breaks_is_no_trouble_either(world: World):
    world.forge.drop_next("GET", "/user-attachments|/storage")
    seen = world.look(world.request(f"![x]({world.picture()})"))
    assert "GitHub did not send it (" in text_of(seen)
    assert "token=" not in text_of(seen)


def test_the_supervisor_never_loads_a_decoder(tmp_path: Path):
    code = (
        "import sys; import bot.session.context.run, bot.attachments.selector, bot.attachments.redraw as r;"
        "assert r._pillow(); sys.exit('PIL' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_server_that_sends_byte_by_byte_does_not_keep_us(world: World):
    """Each byte comes in time, and all of them never would."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        done = threading.Event()

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while not done.wait(0.05):
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        server = f"http://127.0.0.1:{listening.getsockname()[1]}"
        address = f"{server}/user-attachments/assets/0f0f0f0f-1111-4222-8333-444455556666"
        begun = time.monotonic()
        with pytest.raises(Omitted, match="longer than"):
            Fetcher(site_of(server), PICTURE_LIMITS._replace(seconds=0.5)).get(address)
        done.set()
        thread.join()
        assert time.monotonic() - begun < 20


def test_what_is_packed_for_the_way_is_not_unpacked(world: World):
    packed = gzip.compress(bytes(5_000_000))
    request = world.request(f"![x]({world.picture()})")
    headers = {"Content-Encoding": "gzip", "Content-Type": "image/png"}
    world.forge.fail_next("GET", "/user-attachments|/storage", 200, headers=headers, body=packed)
    [image] = world.look(request).images
    assert image.data == packed


# Pictures in Markdown


A = "https://github.com/user-attachments/assets/0f0f0f0f-1111-4222-8333-444455556666"
B = "https://user-images.githubusercontent.com/1/2-b.png"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"![]({A})", [A]),
        (f"see ![shot]( <{A}> 'a title' ) there", [A]),
        (f'![shot]({A}\n "title")', [A]),
        (f'<img width="9" alt="x" src="{A}" />', [A]),
        (f"<IMG SRC={A}>", [A]),
        (f"<img src='{A}' src='{B}'>", [A]),
        (f"<img alt='src={A}' src={B}>", [B]),
        (f'<picture><source srcset="x"><img\n src="{A}"\n></picture>', [A]),
        (f"![a]({A}) and ![b]({B})", [A, B]),
        (f"[![a]({A})](https://example.org)", [A]),
        ("![a](https://x.example/?a=1&amp;b=2)", ["https://x.example/?a=1&b=2"]),
        (f"[a link]({A}), {A}", []),
        (f"`code` ![a]({A}) `code`", [A]),
        (f"a ` alone ![a]({A})", [A]),
        (f"`` ` ![shot]({A}) ``", []),
        (f"> ```\n> ![shot]({A})\n> ```\n![b]({B})", [B]),
        (f"~~~~ md\n~~~\n![shot]({A})\n~~~~", []),
        (f"```\nnever closed ![shot]({A})", []),
        ("![shot]() <img alt='no source'>", []),
        (f"<imgs src='{A}'> ![shot]({A}", []),
    ],
)
def test_pictures_are_found(text: str, found: list[str]):
    assert [one.address for one in pictures_in(text)] == found


def test_a_quotation_is_said_to_be_one():
    found = pictures_in(f"> ![a]({A})\n\n  > - <img src='{B}'>\n\n![c]({A}) > not a quotation\n")
    assert [picture.quoted for picture in found] == [True, True, False]
    assert [one.quoted for one in addresses_in(f"> {A}\r\nand {B}.")] == [True, False]


def test_it_is_known_where_each_ends_also_with_lines_of_windows():
    text = f"one\r\n![a]({A})\r\ntwo <img src='{B}'> three"
    ends = [text[: picture.end] for picture in pictures_in(text)]
    assert ends == [f"one\r\n![a]({A})", f"one\r\n![a]({A})\r\ntwo <img src='{B}'>"]


def test_the_addresses_of_rendered_html():
    html = f'<p><a href="{B}"><img src="{A}?jwt=a&amp;b" alt="x"></a></p><img alt="none">'
    assert list(sources_in(html)) == [f"{A}?jwt=a&b"]


HOSTILE = {
    "openings": "![" * 20_000,
    "nested": "![![](" * 10_000,
    "half": "![a](x" * 10_000,
    "titles": '![a](x "' * 20_000,
    "tags": "<img " * 12_000,
    "attributes": "<img " + "src " * 12_000,
    "ticks": "`" + "".join("`" * (n % 300) + " " for n in range(1_000)),
    "ticks alone": "` `` " * 12_000 + "![a](b)",
    "fences": "```\n" * 12_000 + "![a](b)",
    "one word": "![" + "a" * 200_000,
    "shown": "![a](b)" * 8_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_long(name: str):
    """Some 40 to 200 kB, more than intake lets through; what is quadratic takes much longer."""
    begun = time.process_time()
    pictures_in(HOSTILE[name])
    assert time.process_time() - begun < 5
