"""gRPC."""
