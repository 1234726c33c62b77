"""The strict types of the values in a configuration, for pydantic models.

By default pydantic reads the text "3000" and the truth value true as numbers. These types accept only numbers. A whole
number may be written 1000000 or 1e6.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict


class Settings(BaseModel):
    """A mapping with fixed keys: unknown ones are refused, and so are infinite numbers and NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _whole(value: Any) -> Any:
    """Return a float that is a whole number as an int, anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _options(options: dict[str, Any]) -> dict[str, Any]:
    return {key: _whole(value) for key, value in options.items()}


Whole = Annotated[int, Strict(), BeforeValidator(_whole)]
"""A whole number: an int, or a float such as 1e6 without a fraction."""

Real = Annotated[float, Strict()]
"""A finite number: an int or a float."""

Flag = Annotated[bool, Strict()]
"""True or false."""

Count = Annotated[Whole, Field(ge=1)]
"""A whole number from 1 on."""

Seed = Annotated[Whole, Field(ge=0, lt=2**31)]
"""A seed: a whole number from 0 to 2³¹ − 1, which NumPy, torch and the games all take."""

GameOptions = Annotated[dict[str, Any], AfterValidator(_options)]
"""Options of a game by name. The game itself checks them."""
