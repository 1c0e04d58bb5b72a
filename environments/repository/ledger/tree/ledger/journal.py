"""Reads journals."""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

_HEAD = re.compile(r"(\d{4})-(\d{2})-(\d{2})\s+(\S.*)")
_POSTING = re.compile(r"\s+(?P<account>[a-z][a-z0-9:]*)(?:\s+(?P<amount>-?\d+(?:\.\d+)?)\s+(?P<currency>[A-Z]{3}))?")


class SyntaxFault(ValueError):
    """A line that cannot be read."""

    def __init__(self, number, detail):
        super().__init__(f"line {number}: {detail}")
        self.number = number


@dataclass(frozen=True)
class Posting:
    """An amount that an account gets; ``None`` where it was left out."""

    account: str
    amount: Decimal | None
    currency: str | None


@dataclass(frozen=True)
class Transaction:
    """Postings of a day under one heading."""

    day: date
    title: str
    postings: tuple


def parse(text):
    """The transactions of a journal, in its order."""
    transactions, head, postings = [], None, []

    def finish():
        if head is not None:
            if len(postings) < 2:
                raise SyntaxFault(head[2], "a transaction has two postings or more")
            transactions.append(Transaction(head[0], head[1], tuple(postings)))

    for number, line in enumerate(text.splitlines(), 1):
        line = line.split(";", 1)[0].rstrip()
        if not line:
            continue
        if not line[0].isspace():
            finish()
            head, postings = _head(number, line), []
            continue
        if head is None:
            raise SyntaxFault(number, "a posting belongs to a transaction")
        postings.append(_posting(number, line))
    finish()
    return transactions


def _head(number, line):
    found = _HEAD.fullmatch(line)
    if found is None:
        raise SyntaxFault(number, "a transaction begins with a date and a title")
    year, month, day, title = found.groups()
    try:
        return date(int(year), int(month), int(day)), title, number
    except ValueError as error:
        raise SyntaxFault(number, str(error)) from None


def _posting(number, line):
    found = _POSTING.fullmatch(line)
    if found is None:
        raise SyntaxFault(number, "a posting is an account with an amount and a currency, or an account alone")
    amount = found["amount"]
    return Posting(found["account"], None if amount is None else Decimal(amount), found["currency"])
