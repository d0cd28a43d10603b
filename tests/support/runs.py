"""A `Run` of a test, without a model or a sandbox."""

import os
from pathlib import Path
from typing import Any, cast

from bot.agent.journal import Journal
from bot.checkout.clone import Checkout, Source
from bot.checkout.git import Git
from bot.contracts.cancel import CancelToken
from bot.gate.redact import Redactor
from bot.policy.load import load_policy
from bot.session.context.profiles import profile_of
from bot.session.context.run import Run
from bot.session.run_folder import RunFolder
from bot.workspace.sandbox.backends import Off
from tests.support.outcomes import REQUEST


def make_run(folder: Path, checkout: Checkout | None = None, policy: str | None = None, **more: Any) -> Run:
    """The run that `more` describes, in `folder`; by default a `fix` by a maintainer."""
    folder.mkdir(parents=True, exist_ok=True)
    request = more.get("request", REQUEST)
    fields = {
        "request": request,
        "source": Source("", ""),
        "folder": RunFolder(folder),
        "environment": {"PATH": os.environ["PATH"]},
        "cancel_run": CancelToken(),
        "checkout": checkout or Checkout(cast(Git, None), folder / "tree", "", ()),
        "policy": load_policy(policy),
        "profile": profile_of(request),
        "confinement": Off(),
        "journal": cast(Journal, None),
        "redactor": Redactor({}),
    }
    return Run(**(fields | more))
