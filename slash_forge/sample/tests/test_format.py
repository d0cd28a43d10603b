import unittest

from tidytime import format_duration, parse_duration


class FormatDuration(unittest.TestCase):
    def test_writes_the_largest_unit_first(self):
        self.assertEqual(format_duration(788645), "1w 2d 3h 4m 5s")

    def test_leaves_out_zero_units(self):
        self.assertEqual(format_duration(3605), "1h 5s")

    def test_zero_is_zero_seconds(self):
        self.assertEqual(format_duration(0), "0s")

    def test_negative_durations_keep_their_sign(self):
        self.assertEqual(format_duration(-90), "-1m 30s")

    def test_long_style_knows_singular_and_plural(self):
        self.assertEqual(format_duration(3660 * 2, style="long"), "2 hours 2 minutes")
        self.assertEqual(format_duration(3660, style="long"), "1 hour 1 minute")

    def test_parts_limits_the_units_shown(self):
        self.assertEqual(format_duration(93784, parts=2), "1d 2h")

    def test_fractions_are_rounded_to_seconds(self):
        self.assertEqual(format_duration(12.4), "12s")
        self.assertEqual(format_duration(12.6), "13s")

    def test_rounding_carries_into_the_next_unit(self):
        self.assertEqual(format_duration(59.7), "1m")
        self.assertEqual(format_duration(3599.6), "1h")

    def test_what_was_written_can_be_read_again(self):
        for seconds in (1, 59, 60, 3599, 86400, 694861):
            self.assertEqual(parse_duration(format_duration(seconds)), seconds)
