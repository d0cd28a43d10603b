"""One comment as the model may see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comment:
    """Times are RFC 3339, UTC. `author` is `ghost` for a deleted account. `of_review`: the text of a review, whose `id`
    it has."""

    id: int
    author: str
    body: str
    created_at: str
    updated_at: str
    of_review: bool = False
