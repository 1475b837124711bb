"""Privacy budgets of datasets, kept durably: totals, charges against them, and receipts."""

from __future__ import annotations

from mercer.ledger.ledger import BudgetExceeded, Ledger, LedgerError, Receipt, account

__all__ = ["BudgetExceeded", "Ledger", "LedgerError", "Receipt", "account"]
