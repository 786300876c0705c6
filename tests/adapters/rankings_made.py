"""Rankings, runs and judgements for the adapters, made by Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from cuihop import Ranking

# White space and commas are what text formats stumble over. NumPy's strings, which ranx uses, cannot end with NUL.
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)


# What ranx can hold; one length, because it compiles again for each.
names_for_ranx = st.text(st.characters(max_codepoint=255, exclude_characters="\0"), min_size=3, max_size=3)


@st.composite
def image_rankings(draw: st.DrawFn, names: st.SearchStrategy[str] = names) -> Ranking:
    """Rankings of images: some queries without a list, some with an empty one; the corpus may be another collection."""
    queries = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    corpus = draw(st.lists(names, min_size=1, max_size=7, unique=True)) if draw(st.booleans()) else queries
    lists = {
        query: draw(st.lists(st.sampled_from(corpus), unique=True)) for query in queries if draw(st.integers(0, 4))
    }
    return Ranking.of(lists, queries, corpus)


documents = [f"d{i:02}" for i in range(12)]

judgements = st.lists(
    st.dictionaries(st.sampled_from(documents), st.integers(0, 3), min_size=1), min_size=1, max_size=4
).map(lambda queries: {f"q{place}": judged for place, judged in enumerate(queries)})
"""Query → document → grade."""

tied_scores = st.dictionaries(
    st.sampled_from(documents),
    # Some are equal; some differ in double precision only, which trec_eval does not see.
    st.sampled_from([0.5, 1.0, 1.0 + 2**-30, 1 / 3, -2.0, 16777217.0, 16777216.0]),
    min_size=1,
)


@st.composite
def judged_runs(draw: st.DrawFn) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgements, and a run of the same queries with many ties."""
    qrels = draw(judgements)
    return qrels, {query: draw(tied_scores) for query in qrels}
