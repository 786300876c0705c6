"""Measures of the ImageCLEF campaigns beside retrieval: concept detection and the IRMA error."""
