"""What a run proposed to write on threads, judged again and made: nothing of the bundle is believed here.

Caps, labels and threads come from the policy and the task's file at the tip of the default branch, where a thread
stands from GitHub. A bundle with a write that its run may not make at all was tampered with, or the rules are
stricter now: none of it is made. A write that does not fit its thread any more is left out, with a word.
"""
