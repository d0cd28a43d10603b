"""The system calls that commands are refused, as a seccomp filter."""

from bot.workspace.sandbox.seccomp.build import filter_for, here

__all__ = ["filter_for", "here"]
