"""`slash-agent demo`: the whole path on a sample repository, with a recorded model."""
