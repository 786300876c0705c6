"""Student's t distribution, where SciPy is not installed."""

from __future__ import annotations

import math

__all__ = ["two_sided_p"]

_TINY = 1e-300
_ENOUGH = 1e-15
_MOST_TERMS = 100_000


def two_sided_p(t: float, freedom: int) -> float:
    """How probable a value at least as far from 0 as t is, with so many degrees of freedom.

    It is I_x(ν/2, 1/2), the regularised incomplete beta function at x = ν / (ν + t²); its continued fraction is that
    of the Digital Library of Mathematical Functions (dlmf.nist.gov), 8.17.22, evaluated by Lentz's method.

    Args:
        t: finite. freedom: ν, 1 or more.

    >>> round(two_sided_p(12.706204736, 1), 9), two_sided_p(0.0, 5)
    (0.05, 1.0)
    """
    a, b = freedom / 2, 0.5
    x, rest = freedom / (freedom + t * t), t * t / (freedom + t * t)
    if rest == 0.0:
        return 1.0
    if x == 0.0:
        return 0.0
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * _log(x, rest) + b * math.log(rest))
    if x < (a + 1) / (a + b + 2):
        return scale * _fraction(a, b, x) / a
    return 1.0 - scale * _fraction(b, a, rest) / b


def _log(x: float, rest: float) -> float:
    """The logarithm of x = 1 − rest."""
    return math.log1p(-rest) if rest < 0.5 else math.log(x)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), which converges where x < (a + 1) / (a + b + 2)."""
    c, d = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _not_zero(1.0 + term * d)
            c = _not_zero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) <= _ENOUGH:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
