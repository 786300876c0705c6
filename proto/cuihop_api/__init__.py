"""The contract of the cuihop service, and its generated code: see ``v1/concept_graph.proto``."""
