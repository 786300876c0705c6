"""The number of examples that a property is tried on: a dial, not a constant of each test.

``make test`` tries 25, ``make test-all`` 100, and ``--hypothesis-profile=nightly`` thousands, which differ from night
to night; the others are the same in every run, so that a failure is a change's.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

__all__ = ["examples", "is_nightly", "register_profiles"]

_COUNTS = {"default": 25, "all": 100, "nightly": 5_000}


def register_profiles() -> None:
    """Register the profiles, and load the default one; none depends on the speed of the machine."""
    for name, count in _COUNTS.items():
        settings.register_profile(
            name,
            max_examples=count,
            derandomize=name != "nightly",
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile("default")


def examples(most: int) -> int:
    """The number of the profile, but at most this many, in proportion at night: for examples that take long."""
    count = settings().max_examples
    return min(count, most * max(1, count // _COUNTS["all"]))


def is_nightly() -> bool:
    """True if the run may take hours: loops over every case leave out none."""
    return settings().max_examples >= _COUNTS["nightly"]
