import unittest

from tidytime import Entry, read_timesheet, total

MONDAY = """
# Monday
09:00-10:30 writing
10:30-11:15 review
13:00-13:45 writing   # after lunch
"""


class Timesheet(unittest.TestCase):
    def test_reads_entries_in_order(self):
        self.assertEqual(
            read_timesheet(MONDAY),
            [Entry("writing", 5400), Entry("review", 2700), Entry("writing", 2700)],
        )

    def test_sums_by_task(self):
        self.assertEqual(total(read_timesheet(MONDAY)), {"writing": 8100, "review": 2700})

    def test_an_entry_may_cross_midnight(self):
        self.assertEqual(read_timesheet("23:30-00:15 deploy"), [Entry("deploy", 2700)])

    def test_a_broken_line_is_named(self):
        with self.assertRaisesRegex(ValueError, "line 2"):
            read_timesheet("09:00-10:00 writing\nlunch")
