"""Tools for language-model agents (Model Context Protocol), over any graph. Needs the extra ``mcp``."""
