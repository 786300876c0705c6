"""The service: gRPC and HTTP over one core."""

import os

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its core writes a line of its own for each bad handshake
