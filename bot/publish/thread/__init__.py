"""Our comments in a thread, their hidden marks, and the history of requests that the marks record."""
