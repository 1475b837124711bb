"""Reads what is typed on the command line: numbers, dates, bounds, bins, points, names with values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from mercer.common.checks import is_number

__all__ = [
    "bandwidth_of",
    "bins_of",
    "columns_of",
    "end_of",
    "formats_of",
    "margins_of",
    "na_of",
    "named_numbers",
    "number_or_word",
    "numbers_of_file",
    "one_epsilon",
    "one_of",
    "pairs",
    "required",
    "spread",
]

End: TypeAlias = float | str  # a number, or a date such as 2024-12-31
Pair: TypeAlias = tuple[End, End]
T = TypeVar("T")

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATED = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_LISTS = (
    "--bounds",
    "--y-bounds",
    "--at",
    "--epsilon",
    "--bandwidth",
    "--penalty",
    "--quantiles",
    "--q",
    "--grid",
    "--derivative",
    "--edges",
    "--whole",
    "--size",
)  # options that take several numbers
_ENDS = ("--bounds", "--y-bounds")
_WORDS = (
    "--columns",
    "--classes",
    "--groups",
    "--long",
    "--expect",
    "--where",
    "--categories",
    "--margin",
    "--na",
    "--na-values",
    "--format",
    "--keep",
)  # … words


def spread(argv: list[str]) -> list[str]:
    """`--bounds 0 100` as `--bounds=0 --bounds=100`, for all options that take several values."""
    out: list[str] = []
    place = 0
    while place < len(argv):
        option, place = argv[place], place + 1
        start = place
        if option in _ENDS and place < len(argv) and not argv[place].startswith("-"):
            out.append(f"{option}={argv[place]}")  # whatever it is: bounds say what they must be
            place += 1
        while place < len(argv) and _belongs(option, argv[place]):
            out.append(f"{option}={argv[place]}")
            place += 1
        if place == start:
            out.append(option)
    return out


def _belongs(option: str, token: str) -> bool:
    if option in _WORDS:
        return is_number(token) or not token.startswith("-")
    if option == "--at" and "=" in token:  # age=42
        token = token.rpartition("=")[2]
    if option == "--bins":  # 20, or age=10 income=0,1e4,1e5
        return is_number(token.rpartition("=")[2].partition(",")[0])
    if option in ("--bounds", "--edges", "--at") and _DATED.fullmatch(token):
        return True  # in another way than 2024-12-31 it is refused in words
    if option in _ENDS:  # age=0,100; and 0, 100 for a word about it
        token = token.rpartition("=")[2].partition(",")[0]
        return is_number(token) or bool(_DAY.fullmatch(token))
    return option in _LISTS and is_number(token)


def bandwidth_of(words: list[str] | None, dimension: int) -> str | float | list[float] | list[list[float]]:
    """A word, a number, one number for each column, or a matrix of numbers row by row."""
    if not words:
        return "auto"
    if len(words) == 1 and not is_number(words[0]):
        return words[0]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ValueError(
            f"bandwidth must be auto, rule, private-scott, private-cv or numbers, got {words}"
        ) from None
    if len(numbers) == dimension**2 and dimension > 1:
        return [numbers[i : i + dimension] for i in range(0, len(numbers), dimension)]
    return numbers[0] if len(numbers) == 1 else numbers


def required(name: str, value: T | None, hint: str = "") -> T:
    """The value, or an error that names the option."""
    if value is None:
        raise ValueError(f"{name} is missing; {hint or f'give it with --{name}'}")
    return value


def numbers_of_file(path: Path) -> list[float]:
    """The public numbers in a file, which has one on each line."""
    words = path.read_text(encoding="utf-8", errors="replace").split()
    for line, word in enumerate(words, 1):
        if not is_number(word):
            raise ValueError(f"grid-file must hold numbers, one a line; number {line} is {word!r}")
    return [float(word) for word in words]


def number_or_word(word: str) -> float | str:
    """A word as a number, where it is one."""
    return float(word) if is_number(word) else word


def one_of(name: str, words: list[str] | None, unless: str) -> float | str:
    """The single value of an option that takes several values in other commands."""
    if words is not None and len(words) > 1:
        raise ValueError(f"{name} must be one word or number, got {len(words)}")
    return number_or_word(words[0]) if words else unless


def named_numbers(at: list[str]) -> dict[str, float]:
    """Numbers by name, from words such as `age=42`."""
    out = {}
    for word in at:
        name, _, number = word.rpartition("=")
        if not name or not is_number(number):
            raise ValueError(f"--at must be NAME=NUMBER, for example --at age=42; got {word!r}")
        out[name] = float(number)
    return out


def one_epsilon(epsilon: list[float] | None) -> float | None:
    """The single epsilon of a release; only plans take several."""
    if epsilon is not None and len(epsilon) != 1:
        raise ValueError(f"epsilon must be one number, got {len(epsilon)}; mercer plan compares several")
    return None if epsilon is None else epsilon[0]


def na_of(words: list[str] | None, *, by_column: bool = True) -> list[str] | dict[str, list[str]] | None:
    """Values that stand for missing cells: `999 unknown`, or by column `age=999 income=-1`."""
    if not words:
        return None
    named = [word for word in words if "=" in word]
    if not named:
        return list(words)
    if not by_column:
        raise ValueError(
            f"--na of curves holds for all their columns alike: --na -999 unknown; got {named[0]!r}"
        )
    if len(named) < len(words):
        raise ValueError(
            "--na: either values of all columns (--na 999 unknown), or each with its column (--na "
            f"age=999 income=-1); got both: {' '.join(words)}"
        )
    found: dict[str, list[str]] = {}
    for word in words:
        name, _, value = word.rpartition("=")
        if not name or not value.strip():
            raise ValueError(f"--na must be VALUE… or COLUMN=VALUE…, got {word!r}")
        found.setdefault(name, []).append(value)
    return found


def formats_of(words: list[str] | None) -> dict[str, str] | None:
    """Examples of formats by column, from words such as `income=$1,234.50`."""
    found: dict[str, str] = {}
    for word in words or []:
        name, _, example = word.partition("=")
        if not name or not example.strip():
            raise ValueError(
                "--format must be COLUMN=EXAMPLE, for example --format 'income=$1,234.50' "
                f"day=31/12/2023; got {word!r}"
            )
        if name in found:
            raise ValueError(f"--format: {name!r} stands twice; a column has one format")
        found[name] = example
    return found or None


def pairs(
    words: Sequence[str | float] | None, name: str = "bounds"
) -> Pair | list[Pair] | dict[str, Pair] | None:
    """Bounds as one pair or a list of pairs, from LO HI…; or by column, from NAME=LO,HI."""
    if not words:
        return None
    option, given = f"--{name.replace('_', '-')}", [str(word) for word in words]
    if any("=" in word for word in given):
        return _named_pairs(given, option)
    for word in given:
        if word.strip(",") != word or (not is_number(word) and "," in word):
            plain = " ".join(part for one in given for part in one.split(",") if part)
            raise ValueError(
                f"{name}: numbers stand apart, with spaces between them and no commas: {option} "
                f"{plain}; or by name: {option} age=0,100"
            )
    ends = [end_of(word, name) for word in given]
    if len(ends) == 1:
        raise ValueError(
            f"{name} must be two numbers, LO HI, got the one number {given[0]}; both are public, "
            f"for example {option} 0 100"
        )
    if len(ends) % 2:
        raise ValueError(f"{name} must be pairs LO HI, got {len(ends)} numbers")
    couples = [(ends[i], ends[i + 1]) for i in range(0, len(ends), 2)]
    return couples[0] if len(couples) == 1 else couples


def columns_of(words: Sequence[str | float] | None) -> int:
    """The number of columns that bounds are given for."""
    given = words or []
    return len(given) if any("=" in str(word) for word in given) else len(given) // 2


def _named_pairs(words: list[str], option: str) -> dict[str, Pair]:
    found: dict[str, Pair] = {}
    for word in words:
        column, _, text = word.rpartition("=")
        ends = text.split(",")
        if not column or len(ends) != 2:
            raise ValueError(
                f"{option}: either LO HI for each column in order, or NAME=LO,HI for each, such as "
                f"{option} age=0,100 bmi=10,60; got {word!r}"
            )
        if column in found:
            raise ValueError(f"{option}: {column!r} stands twice; a column has one pair of bounds")
        low, high = (end_of(end.strip(), option) for end in ends)
        found[column] = low, high
    return found


def end_of(word: str, name: str) -> End:
    """A number, or a date as it is typed: the end of an interval."""
    if _DAY.fullmatch(word):
        return word
    if not is_number(word):
        raise ValueError(f"{name} must be numbers, or dates such as 2024-12-31; got {word!r}")
    return float(word)


def bins_of(words: list[str] | None) -> dict[str, Any] | None:
    """A number of bins or their edges by column, from words such as `age=10` or `age=0,18,65`."""
    found: dict[str, Any] = {}
    for word in words or []:
        name, _, text = word.rpartition("=")
        parts = [part for part in re.split(r"[,|]", text) if part]
        if not name or not parts or not all(is_number(p) or "-" in p for p in parts):
            raise ValueError(
                "bins must be COLUMN=NUMBER or COLUMN=EDGE,EDGE,…, for example --bins age=10 "
                f"income=0,10000,50000; got {word!r}"
            )
        if len(parts) > 1:
            found[name] = [end_of(part, "bins") for part in parts]
        elif re.fullmatch(r"\d+", parts[0]):
            found[name] = int(parts[0])
        else:
            raise ValueError(f"bins of {name!r} must be a whole number, or edges: {name}=0,10,20")
    return found or None


def margins_of(word: str) -> str | int | list[tuple[str, ...]]:
    """The word `all`, a number of columns, or the columns of each margin from `a,b;b,c`."""
    text = word.strip()
    if text == "all":
        return text
    if re.fullmatch(r"\d+", text):
        return int(text)
    sets = [tuple(name.strip() for name in part.split(",") if name.strip()) for part in text.split(";")]
    found = [names for names in sets if names]
    if not found:
        raise ValueError("margins must be all, a number of columns, or names such as 'a,b;b,c'")
    return found
