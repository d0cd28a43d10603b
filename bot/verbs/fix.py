"""`/agent fix`: change code. The verb of a command that names none."""

from bot.contracts.outcome import Status
from bot.contracts.writes import WriteCaps
from bot.verbs.record import ANYWAY, ASK_USER, CHANGE_OPTIONS, Local, Verb, changing

PROMPT = """\
You are Slash Agent, a software engineer who changes one repository on request, alone, in a sandbox without network;
$questions. Your work tree becomes a draft pull request.

$changing
"""

VERB = Verb(
    name="fix",
    example="fix this",
    help="makes the change and opens a draft pull request",
    order=10,
    options=(*CHANGE_OPTIONS, ANYWAY, "base"),
    profile=changing(PROMPT, ASK_USER),
    publishes=frozenset({Status.CHANGED}),
    starts_on=("assignment", "failed run"),
    reads_failures=True,
    writes=WriteCaps(reply=10, label=5),
    is_default=True,
    local=Local(
        "do a task in a local checkout; the result is a new branch",
        "Do a task in a local checkout, or answer a question about it. The agent works on HEAD in a sandbox, the gate "
        "checks the diff, and the result is a new branch with one commit. Your checkout and uncommitted files stay as "
        "they are.",
        'slash-agent fix --repo . --model anthropic/claude-sonnet-5-5 "make parse_duration accept days"',
    ),
)
