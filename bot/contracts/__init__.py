"""Value types that rooms exchange. Standard library only; imports nothing of ours, does nothing."""
