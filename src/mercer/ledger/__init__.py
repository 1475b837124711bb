"""Budgets of datasets that last."""

from __future__ import annotations

from mercer.ledger.ledger import BudgetExceeded, Ledger, LedgerError, Receipt, account

__all__ = ["BudgetExceeded", "Ledger", "LedgerError", "Receipt", "account"]
