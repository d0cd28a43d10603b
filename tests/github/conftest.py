"""Answers out of a table, and a client that gets them."""

from collections.abc import Iterator

import pytest
import responses

from tests.support.tables import Client


@pytest.fixture
def web() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


@pytest.fixture
def client() -> Client:
    return Client()
