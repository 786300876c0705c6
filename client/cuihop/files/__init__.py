"""Files: text lines, tables, arrays and tensors read; atomic writes; digests of their content."""
