"""Only GitHub's own attachment hosts, by whole patterns: what looks like one and is none is none."""

import pytest

from bot.attachments.fetch import identity, site_of

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
