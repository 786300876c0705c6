"""The gRPC channel to a service, with TLS where the address asks for it."""

from __future__ import annotations

from pathlib import Path

import grpc

from cuihop.errors import InputError
from cuihop.remote.settings import RemoteSettings

__all__ = ["opened_channel"]

_LARGEST_ANSWER = 256 << 20  # bytes of one message


def opened_channel(settings: RemoteSettings) -> grpc.Channel:
    """The channel to the service. It connects with the first call.

    Raises:
        InputError: a file of TLS cannot be read.
    """
    options: list[tuple[str, int | str]] = [
        ("grpc.enable_retries", 0),  # cuihop.remote.retries alone decides
        ("grpc.min_reconnect_backoff_ms", int(1000 * settings.connect_timeout)),  # the time that connecting may take
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2_000),
        ("grpc.max_receive_message_length", _LARGEST_ANSWER),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_metadata_size", 64 << 10),  # errors with many identifiers at fault
        ("grpc.absolute_max_metadata_size", 128 << 10),
        ("grpc.keepalive_time_ms", 30_000),  # a connection that a firewall forgot is noticed
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.use_local_subchannel_pool", 1),  # close() closes
    ]
    if settings.loopback:
        options.append(("grpc.enable_http_proxy", 0))
    target = f"dns:///{settings.authority}"
    compression = grpc.Compression.NoCompression if settings.loopback else grpc.Compression.Gzip
    if not settings.encrypted:
        return grpc.insecure_channel(target, options, compression)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=_bytes(settings.ca_file),
        private_key=_bytes(settings.client_key),
        certificate_chain=_bytes(settings.client_cert),
    )
    return grpc.secure_channel(target, credentials, options, compression)


def _bytes(file: Path | None) -> bytes | None:
    if file is None:
        return None
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError("cannot be read", file=file, found=error.strerror or str(error)) from None
