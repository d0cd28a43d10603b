"""The bundled sample: a small Python project with one real bug, its issue and its people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from slash_forge.forge import ACTIONS_BOT, Forge
from slash_forge.state import timestamp

SOURCE = Path(__file__).parent / "sample"

OWNER = "riverbend"
NAME = "tidytime"
MAINTAINER = "mira-okafor"
REPORTER = "jonas-weber"

TITLE = "format_duration shows 60 seconds instead of a minute"
BODY = """\
Our build times are measured as floats, and every now and then the dashboard shows a duration that does not \
exist:

```python
>>> from tidytime import format_duration
>>> format_duration(59.7)
'60s'
>>> format_duration(3599.6)
'59m 60s'
```

I would expect `1m` and `1h`. With `parts=1` it is more than cosmetic: 3599.6 seconds come out as `59m`.

There is already a test for it (`test_rounding_carries_into_the_next_unit` in `tests/test_format.py`), \
and it fails on `main`. tidytime 0.4.0, Python 3.11 and 3.12.
"""
ANSWER = """\
Thanks for the report, I can reproduce it. Whatever we do, `format_duration(12.6)` has to stay `13s`: people \
rely on the rounding.
"""
COMMAND = "/agent fix this"

# The first commit does not depend on when the sample is set up.
_COMMITTED = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Sample:
    """What was set up. `event` is the payload that the command's comment causes.

    `run_token` reads the repository and writes to its threads; `publish_token` can also push and open pull
    requests; both are what Actions would give the two jobs. `maintainer_token` is a person's.
    """

    repository: str
    issue: int
    comment: int
    event: dict[str, Any]
    run_token: str
    publish_token: str
    maintainer_token: str


def set_up(forge: Forge) -> Sample:
    """Fill a forge with the sample repository, its issue, and a maintainer's `/agent fix this` beneath it."""
    now = datetime.now(UTC)
    forge.add_user(MAINTAINER, name="Mira Okafor")
    forge.add_user(REPORTER, name="Jonas Weber")
    forge.add_organisation(OWNER, members=[MAINTAINER])
    repository = forge.create_repository(
        OWNER,
        NAME,
        SOURCE,
        description="Durations for people: read them, write them, add them up.",
        author=MAINTAINER,
        committed_at=_COMMITTED,
    )
    forge.grant(repository, MAINTAINER, "maintain")
    issue = forge.create_issue(
        repository, REPORTER, TITLE, BODY, labels=["bug"], at=timestamp(now - timedelta(hours=26))
    )
    forge.comment(repository, issue, MAINTAINER, ANSWER, at=timestamp(now - timedelta(hours=3)))
    comment, event = forge.comment(repository, issue, MAINTAINER, COMMAND)
    return Sample(
        repository=repository,
        issue=issue,
        comment=comment,
        event=event,
        run_token=forge.token(ACTIONS_BOT, {"contents": "read", "issues": "write"}, repo=repository),
        publish_token=forge.token(
            ACTIONS_BOT, {"contents": "write", "issues": "write", "pull_requests": "write"}, repo=repository
        ),
        maintainer_token=forge.token(MAINTAINER),
    )
