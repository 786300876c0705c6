# The service. Build:  docker build --tag cuihop .
# It holds no release, no key and no password: these come when it runs. docs/operations.md says how.

FROM python:3.13-slim-bookworm AS build
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_PROJECT_ENVIRONMENT=/opt/cuihop \
    UV_PYTHON_DOWNLOADS=never
RUN pip install --no-cache-dir uv==0.13.8
WORKDIR /source
# The packages of uv.lock, in a layer of their own: they change less often than the code.
COPY pyproject.toml uv.lock ./
RUN uv sync --locked --no-cache --no-default-groups --extra service --extra traces --no-install-project
COPY README.md LICENSE ./
COPY client client
COPY graph_loader graph_loader
COPY proto proto
COPY service service
RUN uv sync --locked --no-cache --no-default-groups --extra service --extra traces --no-editable

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
# Plain HTTP: where the service speaks TLS itself, give a health check of your own.
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=6 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ.get('CUIHOP_HTTP_PORT', '8080') + '/health/ready', timeout=4)"]
ENTRYPOINT ["cuihop"]
CMD ["serve"]
