#!/bin/bash
cat > /app/calendar_tools.py <<'END'
"""Days of the Gregorian calendar, also before it was introduced."""

LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def is_leap(year):
    """Whether a year has a 29th of February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year, month):
    """How many days a month has; ValueError where month is not from 1 to 12."""
    if not 1 <= month <= 12:
        raise ValueError("no such month")
    return LENGTHS[month - 1] + (month == 2 and is_leap(year))


def day_of_year(year, month, day):
    """1 for the 1st of January; ValueError for a day that is not there."""
    if not 1 <= day <= days_in_month(year, month):
        raise ValueError("no such day")
    return sum(days_in_month(year, earlier) for earlier in range(1, month)) + day


def days_before(year):
    """Days of all years from 1 to the one before."""
    past = year - 1
    return past * 365 + past // 4 - past // 100 + past // 400


def days_between(first, second):
    """Days from one (year, month, day) to another; negative where the second is earlier."""
    return days_before(second[0]) + day_of_year(*second) - days_before(first[0]) - day_of_year(*first)
END
