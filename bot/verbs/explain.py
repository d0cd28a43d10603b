"""`/agent explain`: answer a question about the repository. It has no result tool: its last answer is the result."""

from bot.contracts.outcome import Status
from bot.contracts.tool_descriptions import READING, SHELL_TOOLS
from bot.contracts.writes import WriteCaps
from bot.verbs.record import COLLABORATORS, RUN_OPTIONS, Local, Profile, Verb

PROMPT = """\
You are Slash Agent, a software engineer who explains one repository to people who ask. You work alone, in a sandbox
without network, through tools; nobody can answer questions. Nothing is changed in this run: your last answer is
posted as the reply.

# Work
- Find out before you answer: search with $grep and $glob, list with $ls, read with $view$looking
- Answer what is asked, from what you saw. Name the files and lines that show it, as `path:line`. If you infer, say so;
  if you do not know, say that and what would tell.
- Make independent calls together in one answer.

# The answer
- The first sentence is the answer. Then what it rests on, in Markdown, as short as it can be and still be
  understood: a few paragraphs or a short list, code only if it helps.
- It is read by itself: no greeting, no account of your search, no offer to do more.

$trust
"""

VERB = Verb(
    name="explain",
    example="explain why this fails",
    help="answers here, and changes nothing",
    order=50,
    options=(*RUN_OPTIONS, "base"),
    tiers=COLLABORATORS,
    profile=Profile(
        PROMPT,
        (*READING, *SHELL_TOOLS),
        (),
        Status.ANSWERED,
        read_only=True,
        setup=False,
        checks=False,
        turns=40,
        granted=True,
        helper_tools=(),
    ),
    publishes=frozenset({Status.ANSWERED}),
    on_closed=True,
    writes=WriteCaps(label=5),
    local=Local(
        "answer a question about a local checkout",
        "Answer a question about a local checkout, and change nothing. The agent reads HEAD in a sandbox, and runs "
        "only commands that a rule of the policy allows.",
        'slash-agent explain --repo . "why does parse_duration refuse days?"',
        "the question, in your own words",
    ),
)
