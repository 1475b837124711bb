"""A note beside a data file that says which ledger counts its releases.

Two ledgers that both count the releases of the same records would each allow a whole total.
Names cannot show it, and no ledger knows of another; so the data carry a note.  The file
`<data>.mercer-ledger` is made once, by `Ledger.register(..., data=...)`, and never replaced.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from mercer.ledger.store import LedgerError
from mercer.sources.folders import paths_of

__all__ = ["Claim", "check_claim", "check_same", "claim_on", "note_of", "write_claim"]

_END = ".mercer-ledger"


@dataclass(frozen=True)
class Claim:
    """The ledger and the name under which it counts these data."""

    ledger: str  # the ledger's id
    dataset: str
    where: str  # path or URL, for messages


def note_of(data: Path) -> Path:
    """The path of the note of a data file or folder."""
    return data.with_name(data.name + _END)


def claim_on(data: object) -> tuple[Path, Claim] | None:
    """The note on a path, on a folder that holds it, or on any path of a list; else None."""
    found = [note for path in paths_of(data) or () if (note := _claim_on(path.resolve()))]
    for _, claim in found[1:]:
        if (claim.ledger, claim.dataset) != (found[0][1].ledger, found[0][1].dataset):
            raise LedgerError(
                f"the files are counted as {found[0][1].dataset!r} and as {claim.dataset!r}, each "
                "with a total of its own: release them apart"
            )
    return found[0] if found else None


def _claim_on(path: Path) -> tuple[Path, Claim] | None:
    for place in (path, *path.parents):
        note = note_of(place) if place.name else place
        if os.path.isfile(note) and note != place:  # noqa: PTH113, it never raises
            return note, _read(note)
    return None


def check_claim(data: Path, claim: Claim) -> None:
    """LedgerError unless these data exist and no other ledger counts them."""
    if not data.exists():
        raise LedgerError(f"data: there is no file or folder {str(data)!r}")
    note = note_of(data)
    if note.exists():
        check_same(note, _read(note), claim)


def write_claim(data: Path, claim: Claim) -> None:
    """Write the note, durably before this returns; LedgerError if another ledger's note exists."""
    check_claim(data, claim)
    note = note_of(data)
    text = json.dumps(asdict(claim), indent=1) + "\n"
    draft = note.with_name(f".{note.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, note)  # fails if there is one: never replaced
        except FileExistsError:
            check_same(note, _read(note), claim)
        handle = os.open(note.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise LedgerError(f"data: cannot write {str(note)!r}: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


def check_same(note: Path, found: Claim, claim: Claim) -> None:
    """LedgerError unless both name the same ledger and dataset."""
    if (found.ledger, found.dataset) != (claim.ledger, claim.dataset):
        raise LedgerError(
            f"releases of these data are counted as {found.dataset!r} in the ledger "
            f"{found.where!r} (id {found.ledger[:8]}, says {note.name}), not as "
            f"{claim.dataset!r} in {claim.where!r} (id {claim.ledger[:8]}): two ledgers would "
            "allow the total twice; use the first"
        )


def _read(note: Path) -> Claim:
    try:
        fields = json.loads(note.read_text(encoding="utf-8"))
        claim = Claim(*(fields[key] for key in ("ledger", "dataset", "where")))
        if not all(isinstance(value, str) for value in asdict(claim).values()):
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        raise LedgerError(
            f"{str(note)!r} is damaged: it should say which ledger counts these data; restore it"
        ) from None
    return claim
