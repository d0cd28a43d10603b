"""GitHub's REST operations, one module a chapter of its reference. Each has `ROUTES`."""
