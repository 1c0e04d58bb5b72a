"""Journals of plain text and the balances that follow from them."""

from .balance import balances, check, total
from .journal import Posting, SyntaxFault, Transaction, parse

__all__ = ["Posting", "SyntaxFault", "Transaction", "balances", "check", "parse", "total"]
