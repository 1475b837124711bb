"""What the service says of one release.  Words and numbers, no decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from mercer.columns.domain import Domain
from mercer.online.base import LiveRelease
from mercer.promise.statement import Statement
from mercer.releases.density.release import DensityRelease
from mercer.spaces.bases import SpectralBasis

__all__ = ["Entry", "LiveEntry", "Signature", "StoredEntry", "accuracy_of", "stored_entry", "summary_of"]

Signature: TypeAlias = tuple[int, int, int]  # inode, size, time of the last change


@dataclass(frozen=True, eq=False)
class StoredEntry:
    """A release file, read and ready."""

    name: str
    release: DensityRelease
    path: Path
    signature: Signature
    details: dict[str, Any]  # made once: they cost some milliseconds
    lock: Lock = field(default_factory=Lock)  # so that a band is simulated once

    live = False

    @property
    def domain(self) -> Domain:
        """Names and bounds."""
        return self.release.domain


@dataclass(frozen=True, eq=False)
class LiveEntry:
    """A live release, open."""

    name: str
    release: LiveRelease
    store: str

    live = True

    @property
    def domain(self) -> Domain:
        """Names and bounds."""
        return self.release.domain

    def details(self) -> dict[str, Any]:
        """All that is public; reads the store."""
        accuracy = self.release.accuracy
        return {
            **summary_of(self),
            "statement": _statement(self.release.privacy),
            "accuracy": accuracy_of(accuracy),
            "findings": [],  # its answers come one by one
            "smoothing": {"free": False, "bandwidth": None, "finest": None, "widest": None},
            "answers": self.release.count,
            "downloads": {"release": None},
        }


Entry: TypeAlias = StoredEntry | LiveEntry


def stored_entry(name: str, release: DensityRelease, path: Path, mark: Signature) -> StoredEntry:
    """An entry with its facts computed, and the release warm: its first value is not slow."""
    entry = StoredEntry(name, release, path, mark, {})
    middle = release.domain.from_unit(0.5 + 0 * release.domain.lower[None, :])
    release(middle)
    entry.details.update(
        {
            **summary_of(entry),
            "statement": _statement(release.privacy),
            "accuracy": accuracy_of(release.accuracy),
            "findings": [found.to_dict() for found in release.findings()],
            "smoothing": _smoothing(release),
            "answers": None,
            "downloads": {"release": f"/api/releases/{name}/file"},
        }
    )
    return entry


def summary_of(entry: Entry) -> dict[str, Any]:
    """A line of the list."""
    domain, privacy = entry.domain, entry.release.privacy
    return {
        "name": entry.name,
        "kind": entry.release.kind,
        "live": entry.live,
        "title": f"{entry.release.kind} of {_listed(domain.names)}",
        "dimension": domain.dimension,
        "columns": list(domain.names),
        "bounds": [list(pair) for pair in domain.bounds],
        "promise": privacy.short,
        "private": privacy.secure,
    }


def _listed(names: Sequence[str]) -> str:
    """age; age and weight; age, weight and height."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _statement(privacy: Statement) -> dict[str, Any]:
    return {
        "words": privacy.sentence,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "unit": privacy.unit,
        "n": privacy.n,
        "mechanism": privacy.mechanism,
        "neighbours": privacy.neighbours,
        "version": privacy.version,
        "attack": privacy.attack,
    }


def accuracy_of(accuracy: Any) -> dict[str, Any]:
    """The noise in words and numbers."""
    names = ("pointwise", "integrated", "coordinates", "resolution")
    numbers = {name: getattr(accuracy, name, None) for name in names}
    return {"words": str(accuracy)} | {
        name: value if value is None or math.isfinite(value) else None for name, value in numbers.items()
    }


def _smoothing(release: DensityRelease) -> dict[str, Any]:
    widths = release.bandwidth.tolist()
    if not isinstance(release.basis, SpectralBasis):
        return {"free": False, "bandwidth": widths, "finest": widths, "widest": widths}
    finest = release.finest_bandwidth
    widest = release.basis.widest * release.domain.widths
    return {
        "free": True,
        "bandwidth": widths,
        "finest": finest.tolist(),
        "widest": [max(a, b) for a, b in zip(widest.tolist(), finest.tolist(), strict=True)],
    }
