from datetime import date
from decimal import Decimal

import pytest

from ledger import balances, parse, total


def entry(*postings, day="2024-01-01"):
    return f"{day} Entry\n" + "".join(f"    {posting}\n" for posting in postings)


def test_amounts_are_summed():
    held = balances(parse(entry("a:x 5 EUR", "b -5 EUR") + entry("a:x 2.50 EUR", "b")))
    assert held == {"a:x": {"EUR": Decimal("7.50")}, "b": {"EUR": Decimal("-7.50")}}


def test_an_amount_that_was_left_out_is_filled_in():
    held = balances(parse(entry("food 3 EUR", "drink 4 EUR", "cash")))
    assert held["cash"] == {"EUR": Decimal(-7)}


def test_what_does_not_sum_to_zero_is_refused():
    with pytest.raises(ValueError, match="1 EUR too much"):
        balances(parse(entry("a 3 EUR", "b -2 EUR")))


def test_two_amounts_left_out_are_refused():
    with pytest.raises(ValueError):
        balances(parse(entry("a 3 EUR", "b", "c")))


def test_an_exchange_need_not_sum_to_zero():
    held = balances(parse(entry("cash 20 USD", "bank -18.50 EUR")))
    assert held == {"bank": {"EUR": Decimal("-18.50")}, "cash": {"USD": Decimal(20)}}


def test_later_days_are_left_out():
    text = entry("a 1 EUR", "b") + entry("a 1 EUR", "b", day="2024-02-01")
    assert balances(parse(text), until=date(2024, 1, 31))["a"] == {"EUR": Decimal(1)}


def test_empty_accounts_are_left_out():
    assert balances(parse(entry("a 1 EUR", "b") + entry("a -1 EUR", "b"))) == {}


def test_totals():
    held = balances(parse(entry("expenses:food 3 EUR", "expenses:rent 7 EUR", "assets:bank")))
    assert total(held, "expenses") == {"EUR": Decimal(10)}
