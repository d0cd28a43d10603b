import unittest

from tidytime import DurationError, parse_duration


class ParseDuration(unittest.TestCase):
    def test_reads_every_unit(self):
        self.assertEqual(parse_duration("1w 2d 3h 4m 5s"), 788645)

    def test_reads_long_names_and_separators(self):
        self.assertEqual(parse_duration("2 days, 4 hours and 30 minutes"), 189000)

    def test_reads_fractions(self):
        self.assertEqual(parse_duration("1.5h"), 5400)

    def test_a_leading_minus_negates_the_whole(self):
        self.assertEqual(parse_duration("-1h 30m"), -5400)

    def test_an_unknown_unit_is_named(self):
        with self.assertRaisesRegex(DurationError, "unknown unit 'fortnights'"):
            parse_duration("2 fortnights")

    def test_a_decimal_comma_is_an_error(self):
        with self.assertRaises(DurationError):
            parse_duration("1,5h")

    def test_nothing_is_an_error(self):
        with self.assertRaisesRegex(DurationError, "empty"):
            parse_duration("  ")
