"""A line and scatter chart as an SVG text: small, without identifiers, safe to place inside a page.

Every text is escaped, long series are thinned, and colors come from the page's style sheet by class name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from lcbo.types import Array

WIDTH, HEIGHT = 520.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 66.0, 22.0, 30.0, 44.0
_MOST = 1200  # marks per series; more cannot be told apart on a screen


@dataclass(frozen=True)
class Scale:
    """One axis: values ``low`` to ``high`` onto pixels ``start`` to ``end``; beyond them, the edge.

    ``log`` makes it logarithmic. ``bend`` makes it ``asinh(value / bend)``: linear within ``bend`` of zero,
    logarithmic on both sides beyond, for values of either sign and many sizes.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    bend: float = 0.0

    def __call__(self, values: ArrayLike) -> Array:
        """Return the pixels of values."""
        low, high = self._bent([self.low, self.high])
        share = np.clip((self._bent(values) - low) / (high - low), 0.0, 1.0)
        pixels: Array = self.start + share * (self.end - self.start)
        return pixels

    def _bent(self, values: ArrayLike) -> Array:
        v = np.asarray(values, dtype=np.float64)
        if self.log:
            v = np.log10(np.maximum(v, 1e-300))
        return np.arcsinh(v / self.bend) if self.bend else v

    def ticks(self) -> list[float]:
        """Return round values within the axis, about five of them."""
        if self.bend:
            return bent_ticks(self.low, self.high, self.bend)
        return log_ticks(self.low, self.high) if self.log else linear_ticks(self.low, self.high)


def linear_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return the multiples of 1, 2 or 5 times a power of ten between ``low`` and ``high``."""
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * (1.0 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [0.0 if i == 0 else float(f"{i * step:.12g}") for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten between ``low`` and ``high``, with 2 and 5 times them on a short axis."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, math.ceil((last - first) / 6))
    factors = (1.0, 2.0, 5.0) if high <= 150.0 * low else (1.0,)
    ticks = [f * 10.0**e for e in range(first, last + 1, every) for f in factors]
    inside = [t for t in ticks if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]
    return inside if len(inside) >= 2 else linear_ticks(low, high)


def bent_ticks(low: float, high: float, bend: float) -> list[float]:
    """Return zero and powers of ten of either sign, from ``bend`` to the ends of the axis."""
    first = math.ceil(math.log10(bend))
    last = math.floor(math.log10(max(abs(low), abs(high), bend)))
    powers = [10.0**e for e in range(first, last + 1, max(1, math.ceil((last - first + 1) / 3)))]
    return [tick for tick in sorted([0.0, *powers, *(-p for p in powers)]) if low <= tick <= high]


def bend_of(values: ArrayLike) -> float:
    """Return the typical size of the later values where some are over 20 times as large, else 0."""
    v = np.abs(np.asarray(values, dtype=np.float64))
    v = np.minimum(v[np.isfinite(v) & (v > 0.0)], 1e200)
    if not v.size:
        return 0.0
    typical = float(np.median(v[-max(v.size // 2, 1) :]))
    return typical if float(v.max()) > 20.0 * typical > 1e-100 else 0.0


def limits(values: ArrayLike, *, log: bool = False, robust: bool = False) -> tuple[float, float]:
    """Return an axis range around the finite values, never empty.

    ``robust`` leaves out the farthest hundredth on each side where that shortens the axis fourfold: one
    wild evaluation must not flatten the picture.
    """
    v = np.asarray(values, dtype=np.float64)
    v = v[np.isfinite(v) & (v > 0.0)] if log else v[np.isfinite(v)]
    if not v.size:
        return (0.1, 1.0) if log else (0.0, 1.0)
    v = np.log10(np.clip(v, 1e-200, 1e200)) if log else np.clip(v, -1e200, 1e200)
    low, high = float(v.min()), float(v.max())
    if robust and v.size >= 20:
        near = np.quantile(v, [0.01, 0.99])
        if near[1] > near[0] and high - low > 4.0 * (near[1] - near[0]):
            low, high = float(near[0]), float(near[1])
    room = 0.05 * (high - low)
    size = max(abs(low), abs(high))
    if room <= max(1e-9 * size, 1e-200):
        room = 0.5 if log else 0.5 * size if size > 1e-200 else 1.0
    return (10.0 ** (low - room), 10.0 ** (high + room)) if log else (low - room, high + room)


def wants_log(values: ArrayLike) -> bool:
    """Return whether values are all positive and span more than a factor of 30."""
    v = np.asarray(values, dtype=np.float64)
    v = v[np.isfinite(v)]
    return bool(v.size > 1 and v.min() > 0.0 and v.max() > 30.0 * v.min())


def thin(x: Array, y: Array, most: int = _MOST) -> tuple[Array, Array]:
    """Return at most ``most`` of the finite points: the lowest and the highest of every stretch."""
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if x.size <= most:
        return x, y
    kept: list[int] = []
    for stretch in np.array_split(np.arange(x.size), most // 2):
        kept += sorted({int(stretch[y[stretch].argmin()]), int(stretch[y[stretch].argmax()])})
    return x[kept], y[kept]


@dataclass
class Chart:
    """A picture under construction; `svg` draws it."""

    title: str  # for screen readers
    evaluations: float  # the horizontal axis begins at 0 and ends here
    y: tuple[float, float]
    log: bool = False
    bend: float = 0.0  # as in `Scale`, of the vertical axis
    _marks: list[str] = field(default_factory=list)
    _legend: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._sx = Scale(0.0, self.evaluations, _LEFT, WIDTH - _RIGHT)
        self._sy = Scale(*self.y, HEIGHT - _BOTTOM, _TOP, self.log, self.bend)

    def points(self, x: ArrayLike, y: ArrayLike, style: str, label: str) -> None:
        """Add a dot per finite point."""
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in self._pixels(x, y))
        self._mark("dots", style, dots, label)

    def line(self, x: ArrayLike, y: ArrayLike, style: str, label: str = "", *, step: bool = False) -> None:
        """Add a line through the finite points; ``step`` keeps each value until the next point."""
        joint = "H{:.1f}V{:.1f}" if step else "L{:.1f} {:.1f}"
        path = ""
        for pixel in self._pixels(x, y):
            path += (joint if path else "M{:.1f} {:.1f}").format(*pixel)
        if step and path:
            path += f"H{self._sx.end:.1f}"
        self._mark("line", style, path, label)

    def level(self, value: float, style: str, label: str = "") -> None:
        """Add a horizontal line where it lies within the axis."""
        if self.y[0] <= value <= self.y[1]:
            self._mark("line", style, f"M{_LEFT} {float(self._sy(value)):.1f}H{WIDTH - _RIGHT}", label)

    def shade_below(self, value: float, style: str) -> None:
        """Fill the axis up to a value, behind everything added later."""
        top, bottom = float(self._sy(value)), self._sy.start
        if bottom > top:
            box = f'x="{_LEFT}" y="{top:.1f}" width="{WIDTH - _LEFT - _RIGHT}" height="{bottom - top:.1f}"'
            self._marks.append(f'<rect class="{style}" {box}/>')

    def _pixels(self, x: ArrayLike, y: ArrayLike) -> Iterator[tuple[float, float]]:
        x, y = thin(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
        return zip(self._sx(x), self._sy(y), strict=True)

    def _mark(self, kind: str, style: str, path: str, label: str) -> None:
        if path:
            self._marks.append(f'<path class="{kind} {style}" d="{path}"/>')
            self._legend.append((kind, style, label))

    def svg(self) -> str:
        """Return the chart as an ``<svg>`` element."""
        axis = f'<path class="axis" d="M{_LEFT} {_TOP}V{HEIGHT - _BOTTOM}H{WIDTH - _RIGHT}"/>'
        inside = "".join([*self._grid(), *self._marks, axis, *self._key()])
        about = f'role="img" aria-label="{escape(self.title)}"'
        return f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" {about}>{inside}</svg>'

    def _grid(self) -> list[str]:
        parts = []
        for value, text in zip(self._sy.ticks(), labels(self._sy.ticks()), strict=True):
            at = float(self._sy(value))
            parts.append(f'<path class="grid" d="M{_LEFT} {at:.1f}H{WIDTH - _RIGHT}"/>')
            parts.append(f'<text class="end" x="{_LEFT - 7}" y="{at + 4:.1f}">{text}</text>')
        for value, text in zip(self._sx.ticks(), labels(self._sx.ticks()), strict=True):
            at = float(self._sx(value))
            parts.append(f'<text class="middle" x="{at:.1f}" y="{HEIGHT - _BOTTOM + 18}">{text}</text>')
        middle = (_LEFT + WIDTH - _RIGHT) / 2
        parts.append(f'<text class="middle" x="{middle:g}" y="{HEIGHT - 6:g}">evaluations</text>')
        return parts

    def _key(self) -> list[str]:
        parts, at = [], _LEFT
        for kind, style, label in self._legend:
            if label:
                mark = f"M{at + 8:.1f} 13h0" if kind == "dots" else f"M{at:.1f} 13h16"
                parts.append(f'<path class="{kind} {style} key" d="{mark}"/>')
                parts.append(f'<text x="{at + 22:.1f}" y="18">{escape(label)}</text>')
                at += 36.0 + 7.2 * len(label)
        return parts


def labels(ticks: Sequence[float]) -> list[str]:
    """Return tick texts with enough digits to distinguish neighbors."""
    for digits in range(1, 13):
        texts = [f"{tick:.{digits}g}" for tick in ticks]
        if all(float(text) == float(f"{tick:.10g}") for text, tick in zip(texts, ticks, strict=True)):
            break
    plain = [f"{t:.10g}" if t == 0.0 or 1e-3 <= abs(t) < 1e6 else f"{t:.{digits}g}" for t in ticks]
    return [
        text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e").replace("-", "\N{MINUS SIGN}")
        for text in plain
    ]
