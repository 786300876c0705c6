# The service. Build:  docker build --tag cuihop .
# It holds no release, no key and no password: these come when it runs. docs/operations.md says how.
# Behind a proxy that opens TLS, the build needs the proxy's certificates; they do not become part of the image:
#     docker build --tag cuihop --secret id=certificates,src=/etc/ssl/certs/ca-certificates.crt .

FROM python:3.13-slim-bookworm AS build
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_PROJECT_ENVIRONMENT=/opt/cuihop \
    UV_PYTHON_DOWNLOADS=never
# pip and uv take the certificates of the secret where there is one, else their own.
RUN --mount=type=secret,id=certificates \
    if [ -s /run/secrets/certificates ]; then export SSL_CERT_FILE=/run/secrets/certificates PIP_CERT=/run/secrets/certificates; fi \
    && pip install --no-cache-dir uv==0.13.8
WORKDIR /source
# The packages of uv.lock, in a layer of their own: they change less often than the code.
COPY pyproject.toml uv.lock ./
RUN --mount=type=secret,id=certificates \
    if [ -s /run/secrets/certificates ]; then export SSL_CERT_FILE=/run/secrets/certificates; fi \
    && uv sync --locked --no-cache --no-default-groups --extra mcp --extra service --extra traces --no-install-project
COPY README.md LICENSE ./
COPY client client
COPY graph_loader graph_loader
COPY proto proto
COPY service service
COPY docs/test-vectors docs/test-vectors
RUN --mount=type=secret,id=certificates \
    if [ -s /run/secrets/certificates ]; then export SSL_CERT_FILE=/run/secrets/certificates; fi \
    && uv sync --locked --no-cache --no-default-groups --extra mcp --extra service --extra traces --no-editable

FROM python:3.13-slim-bookworm
RUN groupadd --gid 10001 cuihop \
    && useradd --uid 10001 --gid cuihop --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin cuihop \
    && install --directory --owner=cuihop --group=cuihop /var/cache/cuihop
COPY --from=build /opt/cuihop /opt/cuihop
# All that is written lies in /var/cache/cuihop (machine code and index files, worth keeping) and /tmp (the counts of the
# metrics): the rest of the file system may be read-only.
ENV PATH=/opt/cuihop/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/var/cache/cuihop/numba \
    CUIHOP_HOST=0.0.0.0 \
    CUIHOP_INDEX_FOLDER=/var/cache/cuihop/index
USER 10001:10001
VOLUME /var/cache/cuihop
EXPOSE 8080 50051
# Healthy is who can answer: /health/ready, with the settings of the environment or of CUIHOP_CONFIG, TLS or not.
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s --start-interval=3s --retries=3 \
    CMD ["python", "-m", "cuihop_service.health_check"]
ENTRYPOINT ["cuihop"]
CMD ["serve"]
