"""What a browser gets: threads, pull requests and comparisons as pages. Read-only."""
