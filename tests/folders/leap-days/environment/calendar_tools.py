"""Days of the Gregorian calendar, also before it was introduced."""

LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def is_leap(year):
    """Whether a year has a 29th of February."""
    return year % 4 == 0 and year % 100 != 0


def days_in_month(year, month):
    """How many days a month has; ValueError where month is not from 1 to 12."""
    return LENGTHS[month - 1]


def day_of_year(year, month, day):
    """1 for the 1st of January; ValueError for a day that is not there."""
    return sum(LENGTHS[:month]) + day


def days_between(first, second):
    """Days from one (year, month, day) to another; negative where the second is earlier."""
    years = second[0] - first[0]
    return years * 365 + day_of_year(*second) - day_of_year(*first)
