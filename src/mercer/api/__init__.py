"""Data and a budget in, a release out.

A folder for each kind: `recipe` holds its public choices and what they will cost in accuracy, `call`
the public function, `make` the way from records to the door where that is long.
"""
