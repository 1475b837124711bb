"""Data and a budget in, a release out: a module for the public functions of each kind.

Where it takes many lines, the way from records to the door is a module of its own, named `request`.
The folder `recipes` holds the public choices of each kind, and what they will cost in accuracy.
"""
