"""Read-only web pages of threads, pull requests and comparisons."""
