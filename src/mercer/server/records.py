"""What the service remembers beside the releases: their datasets, and retired names.

A small JSON file in the folder of the releases, replaced as a whole, so that a crash leaves the
old one or the new one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from mercer.common.disk import replace_text, sync

__all__ = ["FolderRegister", "Register"]

_FILE = ".mercer-service.json"
_VERSION = 1


@dataclass(frozen=True)
class Register:
    """The dataset each release was charged to, and the names that are used up."""

    datasets: dict[str, str] = field(default_factory=dict)
    retired: frozenset[str] = frozenset()


@final
class FolderRegister:
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

    def _read(self) -> Register:
        if not self._path.exists():
            return Register()
        try:
            fields: Any = json.loads(self._path.read_text(encoding="utf-8"))
            if fields["version"] > _VERSION:
                raise ValueError(f"{self._path}: written by a newer version; upgrade mercer")
            return Register(
                {str(k): str(v) for k, v in dict(fields["datasets"]).items()},
                frozenset(map(str, fields["retired"])),
            )
        except (KeyError, TypeError, UnicodeError, json.JSONDecodeError):
            raise ValueError(
                f"{self._path} is damaged: it says which names are retired; restore it from a copy"
            ) from None

    def _write(self, records: Register) -> None:
        text = json.dumps(
            {"version": _VERSION, "datasets": records.datasets, "retired": sorted(records.retired)}, indent=1
        )
        replace_text(self._path, text + "\n", mode=0o600)
        sync(self._path.parent)
        self.now = records
