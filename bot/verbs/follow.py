"""`/agent follow`: bring the bot's own pull request to green and to review, within the policy's limits."""

from bot.verbs.record import Answer, Place, Verb

VERB = Verb(
    name="follow",
    example="follow",
    help="follows my pull request: fixes CI, answers reviews, resolves conflicts; `stop` ends it",
    order=75,
    places=frozenset({Place.PULL}),
    options=(),
    answer=Answer.FOLLOWING,
)
