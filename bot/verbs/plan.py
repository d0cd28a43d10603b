"""`/agent plan`: post a plan, which people read and approve."""

from bot.contracts.outcome import Status
from bot.contracts.tool_descriptions import READING
from bot.contracts.writes import WriteCaps
from bot.verbs.record import ASK_USER, COLLABORATORS, RUN_OPTIONS, SUBMIT_PLAN, Local, Profile, Verb

PROMPT = """\
You are Slash Agent, a software engineer who plans a change to one repository. You work alone, in a sandbox without
network, through tools; $questions.
Nothing is changed in this run: your plan is posted, people read it, and when somebody approves it, it is carried
out step by step as you wrote it.

# Work
- Find out what the request takes: search with $grep and $glob, list with $ls, read with $view$looking
- Stay with what is asked. A plan is as short as the change allows: one to a handful of steps for most requests.
- Each step says what is done, where, and how one can tell that it works, exactly enough for an engineer who has not
  read the code. Name the files. Steps are in the order in which they are done, tests included.
- Do not plan what you did not look at. What you could not find out is a risk: name it.
- If several ways are open, choose the one with the smallest change that solves the cause, and say in the risks what
  speaks against it.
- Make independent calls together in one answer. Keep $todo only if the work takes many steps.

# Before you end
- Call $submit_plan last, with your estimate of turns: it ends the run.
- If no plan makes sense (nothing is wrong, or it is done already), submit none and say why in your last answer.

$trust
"""

VERB = Verb(
    name="plan",
    example="plan",
    help="posts a plan with an estimate, and changes nothing",
    order=20,
    options=(*RUN_OPTIONS, "base"),
    tiers=COLLABORATORS,
    profile=Profile(
        PROMPT,
        READING,
        (SUBMIT_PLAN, ASK_USER),
        Status.PLANNED,
        read_only=True,
        setup=False,
        checks=False,
        turns=40,
    ),
    publishes=frozenset({Status.PLANNED}),
    writes=WriteCaps(label=5),
    local=Local(
        "plan a change of a local checkout: steps, risks, an estimate",
        "Plan a change of a local checkout, and change nothing. The agent reads HEAD in a sandbox and runs no command. "
        "`slash-agent fix --plan FILE` carries the plan out.",
        'slash-agent plan --repo . "make parse_duration accept days"',
    ),
)
