"""`/agent help`: list the commands that the asker can give."""

from bot.verbs.record import EVERYBODY, THREADS, Answer, Verb

VERB = Verb(
    name="help",
    example="help",
    help="shows this list",
    order=100,
    places=THREADS,
    options=(),
    tiers=EVERYBODY,
    answer=Answer.COMMANDS,
    on_closed=True,
)
