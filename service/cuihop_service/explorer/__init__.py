"""The web explorer: pages that people look at the graph with, served at ``/``."""
