"""What is in every account."""

from collections import defaultdict
from decimal import Decimal


def check(transaction):
    """The postings of a transaction with the amount filled in that was left out.

    Raises :class:`ValueError` when the transaction does not balance.
    """
    known = [posting for posting in transaction.postings if posting.amount is not None]
    open_ = [posting for posting in transaction.postings if posting.amount is None]
    if len(open_) > 1:
        raise ValueError(f"{transaction.title}: two amounts are left out")
    rest = sum((posting.amount for posting in known), Decimal(0))
    if open_:
        filled = (open_[0].account, -rest, known[0].currency)
        return [(posting.account, posting.amount, posting.currency) for posting in known] + [filled]
    currencies = {posting.currency for posting in known}
    if len(currencies) == 1 and rest != 0:
        raise ValueError(f"{transaction.title}: {rest} {currencies.pop()} too much")
    return [(posting.account, posting.amount, posting.currency) for posting in known]


def balances(transactions, until=None):
    """Amounts by account and currency, up to and with a day; accounts that hold nothing are left out."""
    held = defaultdict(lambda: defaultdict(Decimal))
    for transaction in transactions:
        if until is not None and transaction.day > until:
            continue
        for account, amount, currency in check(transaction):
            held[account][currency] += amount
    return {
        account: {currency: amount for currency, amount in sorted(amounts.items()) if amount}
        for account, amounts in sorted(held.items())
        if any(amounts.values())
    }


def total(held, prefix):
    """The sum over all accounts whose name begins with a prefix, by currency."""
    sums = defaultdict(Decimal)
    for account, amounts in held.items():
        if account.startswith(prefix):
            for currency, amount in amounts.items():
                sums[currency] += amount
    return dict(sums)
