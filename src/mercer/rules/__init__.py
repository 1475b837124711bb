"""Public rules: bandwidth, features and penalty from n and the promise."""
