"""Cases by name.  A case is a function without arguments that gives releases, numbers and words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from zlib import crc32

__all__ = ["CASES", "add", "case", "made"]

CASES: dict[str, Callable[[], Any]] = {}


def add(group: str, function: Callable[..., Any], /, *given: Any, **variants: dict[str, Any]) -> None:
    """A case for each variant of the options of one public function; the seed follows from its name.

    The option `call` stands for other positional arguments.
    """
    for variant, options in variants.items():
        name = f"{group}-{variant.replace('_', '-')}"
        arguments = {"rng": crc32(name.encode()), **options}
        call = arguments.pop("call", given)
        CASES[name] = lambda f=function, c=call, a=arguments: f(*c, **a)


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    """A case with a function of its own."""
    CASES[function.__name__.replace("_", "-")] = function
    return function


def made(name: str) -> Any:
    """What a case gives; what it warns of, which tests elsewhere are about, is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name]()
