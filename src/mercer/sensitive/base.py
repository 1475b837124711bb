"""What holds records may not be shown, copied or saved.  Left of the door."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["Sensitive"]


class Sensitive:
    """Base of everything that holds records: refuses to be pickled, copied or shown."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} holds sensitive records and cannot be pickled, copied or "
            "saved; release it first (mercer.density) and save the release"
        )

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        self.__reduce__()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sensitive, not shown>"

    def __format__(self, _spec: str) -> str:
        return repr(self)
