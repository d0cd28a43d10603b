"""Which system calls commands are refused, as a filter for the kernel: tables, rules, and the bytes made of them."""

from bot.sandbox.seccomp.build import filter_for, here

__all__ = ["filter_for", "here"]
