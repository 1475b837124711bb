"""Whether a change of the library changes any number: one digest for each seeded release.

    python tests/contracts/everything.py --digest                    one line a case, and one of all
    python tests/contracts/everything.py --digest --only 'density-*' of some cases
    python tests/contracts/everything.py --show density-cube         what is collected of a case

Digests are of all bits, so they are for two versions of the library on one machine.  Only the public
interface is used, so the same script runs on both.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.contracts.collected import canonical, collected  # noqa: E402
from tests.contracts.seeded import CASES, made  # noqa: E402


def digest_of(value: object) -> str:
    """Of all bits of what was collected."""
    return blake2b(canonical(value), digest_size=16).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--digest", action="store_true", help="print a digest of every case")
    action.add_argument("--show", metavar="CASE", help="print what is collected of a case")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="cases, such as 'density-*'")
    chosen = parser.parse_args()
    if chosen.show:
        print(json.dumps(collected(made(chosen.show)), indent=1, sort_keys=True))
        return
    lines = []
    for name in fnmatch.filter(CASES, chosen.only):
        lines.append(f"{digest_of(collected(made(name)))} {name}")
        print(lines[-1], flush=True)
    print(digest_of(lines), "all")


if __name__ == "__main__":
    main()
