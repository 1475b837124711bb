"""A release: the public, immutable artifact.  Right of the door: never sees a record.

What every kind of release has: a domain, a promise, a file, a picture, and what it tells by itself.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from mercer.columns.domain import Domain
from mercer.common.files import Fields, replace_text
from mercer.promise.statement import Statement
from mercer.releases.findings import Finding
from mercer.releases.kinds import KINDS, found
from mercer.show.figure import picture

__all__ = ["FORMAT", "VERSION", "Release", "released", "text_of", "write"]

FORMAT = "mercer-release"  # what a file calls itself
VERSION = 2


@dataclass(frozen=True, eq=False, repr=False)
class Release(ABC):
    """Something anyone may evaluate, plot and keep for ever at no further cost."""

    domain: Domain
    privacy: Statement

    kind: ClassVar[str]
    routes: ClassVar[tuple[str, ...]] = ()  # by which a live release answers from one of this kind

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All that the file holds."""

    @classmethod
    @abstractmethod
    def from_fields(cls, top: Fields) -> Self:
        """The release that `to_dict` wrote; ValueError says what is wrong."""

    @abstractmethod
    def findings(self) -> tuple[Finding, ...]:
        """What the release itself tells: post-processing of its noisy numbers, free."""

    def save(self, path: str | Path) -> Path:
        """Write the release as JSON; `mercer.load` reads it back to the last bit."""
        return write(self.to_dict(), Path(path))

    def plot(self, path: str | Path | None = None, **options: Any) -> Any:
        """Draw the release with its band; returns the Matplotlib figure."""
        return picture(found(KINDS[self.kind].figure), self, path, **options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.domain.describe()}: {self.privacy.short}>"


def released(data: object) -> Release | None:
    """The release that a caller gave in place of data, if it is one: public already."""
    return data if isinstance(data, Release) else None


def write(fields: dict[str, Any], path: Path) -> Path:
    """Write a release, all of it or nothing: a crash leaves the old file or the new one."""
    text = text_of(fields)
    try:
        replace_text(path, text + "\n", mode=0o644)
    except OSError as error:
        missing = not path.resolve().parent.is_dir()
        reason = f"there is no folder {str(path.parent)!r}" if missing else error.strerror
        raise OSError(
            error.errno,
            f"{reason}; the release is not lost: save it again to another place, at no cost",
            str(path),
        ) from None
    return path


def text_of(fields: dict[str, Any]) -> str:
    """All that the file of a release says."""
    return json.dumps({"format": FORMAT, "version": VERSION, **fields}, allow_nan=False, indent=1)
