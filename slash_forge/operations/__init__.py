"""The operations of GitHub's API, one module for each chapter of its reference. Each has `ROUTES`."""
