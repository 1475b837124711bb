"""Summaries f_D of records: how one row contributes and how far it can move f_D."""
