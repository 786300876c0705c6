"""Ends of sentences: a full stop, question mark or exclamation mark before a blank, but for short forms."""

from __future__ import annotations

NOT_A_STOP = (
    "al", "approx", "ca", "cf", "dr", "e.g", "eq", "esp", "fig", "figs", "i.e", "incl", "mr", "mrs", "ms", "prof",
    "ref", "refs", "resp", "spp", "st", "viz", "vs",
)  # fmt: skip
"""Short forms whose full stop does not end a sentence."""
