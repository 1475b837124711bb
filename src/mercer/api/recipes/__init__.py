"""The public choices of each kind of release, checked before any record is read, and their plans."""
