"""Files: text lines, tables, arrays and tensors read; whole files written; digests of their content."""
