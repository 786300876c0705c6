"""HTML, SVG and figures for notebooks and papers."""
