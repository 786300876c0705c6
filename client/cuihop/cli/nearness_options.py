"""Options of nearness: hop threshold, λ, weight, unknown identifiers."""

from __future__ import annotations

from cuihop.cli.graph_option import DirectionOptions
from cuihop.cli.option_groups import option, option_group
from cuihop.measures.nearness import IntrinsicContent, Nearness, Weight
from cuihop.measures.resolution import Unknown


@option_group
class NearnessOptions(DirectionOptions):
    """Hop threshold, and the weight of near concepts."""

    hops: int = option("Hop threshold n: concepts within n hops are near.", "-n", default=1, min=0)
    lam: float | None = option(
        "Weight λ of a near concept.", "--lambda", min=0.0, max=1.0, shown="0.5; 1 for Lin and Wu-Palmer"
    )
    weight: Weight = option(
        "Weight of a near concept: constant, λ; hops, λ to the power of its hops; Lin or Wu-Palmer, λ times its "
        "similarity over the hierarchy.",
        default="constant",
    )
    ic: IntrinsicContent = option("Information content for --weight Lin.", default="Sanchez")
    unknown: Unknown = option(
        "Identifiers that are not in the graph: refuse them, let each match only itself, or leave them out.",
        default="error",
    )

    @property
    def nearness(self) -> Nearness:
        """The checked values; refuses one that is out of its range."""
        return Nearness(self.hops, self.lam, self.direction, self.unknown, self.weight, self.ic)


@option_group
class ConstantNearnessOptions(DirectionOptions):
    """Hop threshold, direction, and one weight for all near concepts."""

    hops: int = option("Hop threshold n: concepts within n hops are near.", "-n", default=1, min=0, panel="Measures")
    lam: float = option("Weight λ of a near concept.", "--lambda", default=0.5, min=0.0, max=1.0)

    @property
    def nearness(self) -> Nearness:
        """The checked values; an identifier that the graph does not hold matches only itself."""
        return Nearness(self.hops, self.lam, self.direction, "isolated")
