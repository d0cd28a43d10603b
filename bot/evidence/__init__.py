"""Decide what checks mean: classify runs, compare before and after, select checkers. Pure: nothing runs here."""
