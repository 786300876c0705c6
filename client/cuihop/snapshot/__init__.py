"""The embedded adapter: a snapshot mapped into memory and searched by compiled code."""
