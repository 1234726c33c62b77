"""The canvas for the games' pictures, drawn with Pillow: a table cloth, dice, words, tracks.

It needs the extra `render`. Everything is drawn at `_FINE` times its size and then shrunk, which smooths the edges.
Positions and sizes are in pixels of the finished picture. The font is Pillow's, so no font file is needed. It has
letters and digits but not the signs − × ÷, so these are drawn as shapes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import needs_extra

Colour = tuple[int, int, int]

CLOTH: Colour = (31, 86, 66)
PANEL: Colour = (22, 62, 48)
TROUGH: Colour = (13, 42, 32)
PALE: Colour = (238, 240, 228)
DIM: Colour = (143, 172, 156)
GOLD: Colour = (247, 202, 92)
INK: Colour = (35, 32, 40)
SEATS: tuple[Colour, ...] = (
    (230, 111, 92),
    (98, 172, 232),
    (236, 178, 74),
    (170, 138, 226),
    (126, 200, 110),
    (232, 136, 182),
    (96, 204, 196),
    (196, 180, 140),
)
"""A colour for each seat."""

_FINE = 2

_CORNERS = ((-1, -1), (1, 1), (-1, 1), (1, -1))
_PIPS: tuple[tuple[tuple[int, int], ...], ...] = (  # where the pips of each number sit, from the middle of the face
    (),
    ((0, 0),),
    _CORNERS[:2],
    ((0, 0), *_CORNERS[:2]),
    _CORNERS,
    ((0, 0), *_CORNERS),
    ((-1, 0), (1, 0), *_CORNERS),
)


def require_pictures() -> None:
    """Raise `MissingExtraError` if Pillow is not installed."""
    _pillow()


def _pillow() -> Any:
    with needs_extra("render", "drawing a picture", "PIL"):
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    return PIL


@cache
def _font(size: int) -> Any:
    return _pillow().ImageFont.load_default(size=size)


def blend(colour: Colour, other: Colour, share: float) -> Colour:
    """Return `colour` with a `share` (0 to 1) of it replaced by the `other`."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


class Canvas:
    """A picture that is being drawn.

    Args:
        width, height: its size in pixels.
        colour: the colour of the background.
    """

    def __init__(self, width: int, height: int, colour: Colour = CLOTH) -> None:
        pillow = _pillow()
        self.width, self.height = width, height
        self._image = pillow.Image.new("RGB", (width * _FINE, height * _FINE), colour)
        self._draw = pillow.ImageDraw.Draw(self._image)

    def pixels(self) -> NDArray[np.uint8]:
        """Return the picture, (height, width, 3) uint8."""
        small = self._image.resize((self.width, self.height), _pillow().Image.Resampling.LANCZOS)
        return np.array(small, np.uint8)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: Colour | None,
        radius: float = 0,
        outline: Colour | None = None,
    ) -> None:
        """Draw a rectangle with its upper left corner at (x, y): filled, rounded and outlined as given."""
        corners = [_FINE * x, _FINE * y, _FINE * (x + width) - 1, _FINE * (y + height) - 1]
        self._draw.rounded_rectangle(corners, _FINE * radius, colour, outline, _FINE * 2 if outline else 0)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Draw a filled circle around (x, y)."""
        corners = [_FINE * (x - radius), _FINE * (y - radius), _FINE * (x + radius), _FINE * (y + radius)]
        self._draw.ellipse(corners, colour)

    def oval(self, x: float, y: float, across: float, down: float, colour: Colour) -> None:
        """Draw a filled ellipse around (x, y), with its half width and half height."""
        corners = [_FINE * (x - across), _FINE * (y - down), _FINE * (x + across), _FINE * (y + down)]
        self._draw.ellipse(corners, colour)

    def line(self, x0: float, y0: float, x1: float, y1: float, colour: Colour, width: float) -> None:
        """Draw a straight line from (x0, y0) to (x1, y1)."""
        self._draw.line([_FINE * v for v in (x0, y0, x1, y1)], colour, round(_FINE * width))

    def text(
        self, x: float, y: float, words: str, size: int, colour: Colour, anchor: str = "lm", bold: float = 0
    ) -> None:
        """Draw words at (x, y); `anchor`: `"lm"` left, `"mm"` centred, `"rm"` right; `bold` thickens."""
        stroke = round(_FINE * bold)
        self._draw.text((_FINE * x, _FINE * y), words, colour, _font(_FINE * size), anchor, stroke_width=stroke)

    def die(self, x: float, y: float, size: float, colour: Colour, face: str, ink: Colour) -> None:
        """Draw a die with its upper left corner at (x, y), and a number, a letter or one of + − × ÷ on it."""
        radius = size / 6
        self.box(x + size / 24, y + size / 16, size, size, blend(CLOTH, (0, 0, 0), 0.45), radius)
        self.box(x, y, size, size, blend(colour, (0, 0, 0), 0.22), radius)
        self.box(x, y, size, size * 0.96, colour, radius)
        edge = size / 12
        inner = blend(colour, (255, 255, 255), 0.18)
        self.box(x + edge, y + edge, size - 2 * edge, size * 0.94 - 2 * edge, inner, radius)
        self._face(x + size / 2, y + size * 0.47, size, face, ink)

    def pip_die(self, x: float, y: float, size: float, colour: Colour, number: int, ink: Colour) -> None:
        """Draw an ordinary die with its upper left corner at (x, y) and `number` (0 to 6) pips on it."""
        self.die(x, y, size, colour, "", ink)
        for across, down in _PIPS[number]:
            self.disc(x + size * (0.5 + 0.24 * across), y + size * (0.47 + 0.24 * down), size * 0.085, ink)

    def _face(self, x: float, y: float, size: float, face: str, ink: Colour) -> None:
        half, thick = size * 0.22, size * 0.09
        if face in ("+", "−", "÷"):
            self.box(x - half, y - thick / 2, 2 * half, thick, ink, thick / 2)
        if face == "+":
            self.box(x - thick / 2, y - half, thick, 2 * half, ink, thick / 2)
        elif face == "÷":
            for dot in (y - size * 0.18, y + size * 0.18):
                self.disc(x, dot, size * 0.065, ink)
        elif face == "×":
            reach = half * 0.8
            for slope in (-1, 1):
                self.line(x - reach, y - slope * reach, x + reach, y + slope * reach, ink, thick)
                for end in (-1, 1):
                    self.disc(x + end * reach, y + slope * end * reach, thick / 2 - 0.25, ink)
        elif face != "−":
            self.text(x, y, face, round(size * 0.62), ink, "mm", bold=size / 64)

    def track(self, x: float, y: float, width: float, height: float, share: float, colour: Colour, parts: int) -> None:
        """Draw a bar that is filled to `share` (clipped to 0 to 1), with marks that divide it into `parts`."""
        self.box(x, y, width, height, TROUGH, height / 2)
        filled = min(1.0, max(0.0, share)) * width
        if filled > 0:
            self.box(x, y, max(filled, height), height, colour, height / 2)
        for mark in range(1, parts):
            place = x + width * mark / parts
            self.line(place, y + height * 0.3, place, y + height * 0.7, blend(PANEL, PALE, 0.35), 1)
