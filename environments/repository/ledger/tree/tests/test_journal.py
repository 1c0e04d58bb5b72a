from datetime import date
from decimal import Decimal

import pytest

from ledger import Posting, SyntaxFault, parse

JOURNAL = """
; the first week
2024-03-01 Rent
    expenses:rent     750.00 EUR   ; March
    assets:bank

2024-03-02 Bread
    expenses:food       3.20 EUR
    assets:cash        -3.20 EUR
"""


def test_transactions_are_read_in_order():
    rent, bread = parse(JOURNAL)
    assert (rent.day, rent.title) == (date(2024, 3, 1), "Rent")
    assert rent.postings == (
        Posting("expenses:rent", Decimal("750.00"), "EUR"),
        Posting("assets:bank", None, None),
    )
    assert bread.title == "Bread"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("    assets:bank 1 EUR\n", 1),
        ("2024-02-30 Never\n  a 1 EUR\n  b\n", 1),
        ("2024-01-01 One\n  a 1 EUR\n", 1),
        ("2024-01-01 Bad\n  a 1 EUR\n  b 1,00 EUR\n", 3),
        ("Rent\n", 1),
    ],
)
def test_faults_name_their_line(text, number):
    with pytest.raises(SyntaxFault) as error:
        parse(text)
    assert error.value.number == number
