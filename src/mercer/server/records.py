"""What the service remembers beside the releases: their datasets, and retired names.  Layer 6.

A small JSON file in the folder of the releases, replaced as a whole, so that a crash leaves the
old one or the new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

__all__ = ["NAME", "FolderRecords", "Records", "is_name"]

NAME = r"^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]{0,63}$"
_NAME = re.compile(NAME)
_FILE = ".mercer-service.json"
_VERSION = 1


def is_name(text: str) -> bool:
    """Whether a text may be the name of a release: plain, and harmless in a path."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class Records:
    """The dataset each release was charged to, and the names that are used up."""

    datasets: dict[str, str] = field(default_factory=dict)
    retired: frozenset[str] = frozenset()


@final
class FolderRecords:
    """The records of a folder.  One writer at a time: the caller holds a lock."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        self.now = self._read()

    def note_dataset(self, name: str, dataset: str) -> None:
        """Remember, on the disk, which dataset a release was charged to."""
        self._write(replace(self.now, datasets={**self.now.datasets, name: dataset}))

    def note_retired(self, name: str) -> None:
        """Use up a name, on the disk, for ever."""
        self._write(replace(self.now, retired=self.now.retired | {name}))

    def _read(self) -> Records:
        if not self._path.exists():
            return Records()
        try:
            fields: Any = json.loads(self._path.read_text(encoding="utf-8"))
            if fields["version"] > _VERSION:
                raise ValueError(f"{self._path}: written by a newer version; upgrade mercer")
            return Records(
                {str(k): str(v) for k, v in dict(fields["datasets"]).items()},
                frozenset(map(str, fields["retired"])),
            )
        except (KeyError, TypeError, UnicodeError, json.JSONDecodeError):
            raise ValueError(
                f"{self._path} is damaged: it says which names are retired; restore it from a copy"
            ) from None

    def _write(self, records: Records) -> None:
        text = json.dumps(
            {"version": _VERSION, "datasets": records.datasets, "retired": sorted(records.retired)},
            indent=1,
        )
        folder = self._path.parent
        handle, draft = tempfile.mkstemp(dir=folder, prefix=f"{_FILE}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            Path(draft).replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(draft).unlink()
            raise
        sync_folder(folder)
        self.now = records


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
