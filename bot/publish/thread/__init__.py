"""What we write in a thread and find again there: marks, comments, what they say of the requests before this one."""
