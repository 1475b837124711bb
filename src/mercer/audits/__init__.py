"""Promises tested from outside: audits by guessing, replays on neighbouring data."""
