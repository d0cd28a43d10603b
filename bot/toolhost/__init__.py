"""Runs inside the sandbox: tools, shell, language servers, report parsers.

Imports the standard library and `bot.contracts` only.
"""
