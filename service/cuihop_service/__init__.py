"""The service: gRPC and HTTP over one core."""
