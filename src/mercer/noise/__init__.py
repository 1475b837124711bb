"""Exact randomness, the laws of noise, and mechanisms that know how much is enough."""
