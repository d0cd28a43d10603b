"""Render untrusted text inside our Markdown. Pure; the gate decides what may leave."""
