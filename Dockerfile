# The service. Build:  docker build --tag cuihop .
# It holds no release, no key and no password: these come when it runs. docs/operations.md says how.
# Behind a proxy that opens TLS, the build needs the proxy's certificates; they do not become part of the image:
#     docker build --tag cuihop --secret id=certificates,src=/etc/ssl/certs/ca-certificates.crt .

FROM python:3.13-slim-bookworm AS packages
ENV UV_LINK_MODE=copy \
    UV_PROJECT_ENVIRONMENT=/opt/cuihop \
    UV_PYTHON_DOWNLOADS=never
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends binutils && rm -rf /var/lib/apt/lists/*
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
# Without what no service reads, 50 of 340 MB: packages' own tests (12), C and Cython sources, headers and type stubs
# (5), symbol tables for debuggers (42, of them LLVM 19). Libraries that a wheel brings in a folder of its own (*.libs)
# were rewritten by auditwheel, which strip does not expect: they stay as they are.
RUN find /opt/cuihop -type d -name tests -prune -exec rm -r {} + \
    && find /opt/cuihop -type f -regextype egrep -regex '.*\.(pyi|pyx|pxd|c|cpp|h|hpp|a)' -delete \
    && find /opt/cuihop -type f -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} +

FROM packages AS build
COPY README.md LICENSE ./
COPY client client
COPY graph_loader graph_loader
COPY proto proto
COPY service service
COPY docs/test-vectors docs/test-vectors
RUN --mount=type=secret,id=certificates \
    if [ -s /run/secrets/certificates ]; then export SSL_CERT_FILE=/run/secrets/certificates; fi \
    && touch /before && uv sync --locked --no-cache --no-default-groups --extra mcp --extra service --extra traces --no-editable
# Each module of cuihop is imported once: bytecode of it and of whatever it imports, 25 MB, where all packages have 59.
# It fails where a library above does not load any more. ir_measures is a package of the module's own users.
RUN /opt/cuihop/bin/python -c "import importlib, pkgutil; [importlib.import_module(module.name) \
    for root in ('cuihop', 'cuihop_service') \
    for module in pkgutil.walk_packages(importlib.import_module(root).__path__, f'{root}.') \
    if not module.name.endswith(('.__main__', '.ir_measures'))]"
# Compiled code for any x86-64 processor with AVX2 (2013 and later), so that no container compiles what it starts with. The
# processor is part of the key of each file: one that lacks a feature compiles its own code, as does one of another kind.
ENV NUMBA_CPU_NAME=x86-64-v3 \
    NUMBA_CPU_FEATURES=+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave
WORKDIR /tmp
RUN folder=$(/opt/cuihop/bin/python -c "from cuihop._kernels.jit import SHIPPED; print(SHIPPED)") \
    && export NUMBA_CACHE_DIR="$folder" PATH="/opt/cuihop/bin:$PATH" \
    && python -c "import numpy as np; from dataclasses import replace; from cuihop import SnapshotGraph; \
        from cuihop.snapshot.source_codes import CodeRows, code_sections; \
        from cuihop.snapshot.string_table import StringTable; \
        from cuihop.snapshot.writer import sections_of, tables_of_edges; \
        edges = [(f'C{c:07d}', f'C{c // 2:07d}') for c in range(2, 3000)]; \
        names = {c: ['left lung ' + c, 'lung (' + c + ')'] for c, _ in edges}; \
        tables = tables_of_edges(edges, concepts=[], names=names, retired=[], identifiers='cui'); \
        zero = np.zeros(1, dtype=np.int32); \
        rows = CodeRows(zero, zero.astype(np.uint32), zero.astype(np.uint16), ['MSH'], StringTable.of(['1']), StringTable.of([''])); \
        tables = replace(tables, codes=lambda: code_sections(rows, len(tables.cuis))); \
        SnapshotGraph(sections_of(tables, name='made', relations=['isa'], identifiers='cui')).save('graph.cuihop')" \
    && for step in plain indexed; do echo "compiling: $step" \
        && python -c "from pathlib import Path; from cuihop._kernels.jit import signed; from cuihop_service.stores import store_at; \
            store = store_at('graph.cuihop', index=True, index_folder=Path('copies'), caching=lambda graph: None); \
            graph = store.open().index; signed(1); graph.warm_up(); graph.warm_up_hierarchy()" \
        && cuihop index graph.cuihop || exit 1; done \
    && rm -r /tmp/* && chmod -R a+rX "$folder" && rm -f "$folder"/*/lock
# What came after the packages: a layer that is small enough to be fetched with each version. The bytecode of Python's own
# library is in it, which the base image leaves out, and which each start would compile anew.
WORKDIR /
RUN mkdir added && { find opt/cuihop -type f -cnewer /before \
        && find usr/local/lib -name site-packages -prune -o -type f -name '*.pyc' -print; } > list \
    && xargs --arg-file=list cp --parents --preserve=timestamps --target-directory=added

FROM python:3.13-slim-bookworm
RUN groupadd --gid 10001 cuihop \
    && useradd --uid 10001 --gid cuihop --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin cuihop \
    && install --directory --owner=cuihop --group=cuihop /var/cache/cuihop
COPY --from=packages /opt/cuihop /opt/cuihop
COPY --from=build /added /
# All that is written lies in /var/cache/cuihop (machine code that the image lacks and index files, worth keeping) and /tmp
# (the counts of the metrics): the rest of the file system may be read-only.
ENV PATH=/opt/cuihop/bin:$PATH \
    NUMBA_CPU_NAME=x86-64-v3 \
    NUMBA_CPU_FEATURES=+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/var/cache/cuihop/numba \
    CUIHOP_HOST=0.0.0.0 \
    CUIHOP_INDEX_FOLDER=/var/cache/cuihop/index
# docker build --build-arg VERSION=0.1.0 --build-arg REVISION=$(git rev-parse HEAD) --tag cuihop .
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="cuihop" \
    org.opencontainers.image.description="is_a distances between UMLS concepts, nn-IoU and nn-CUI@K, over HTTP and gRPC" \
    org.opencontainers.image.licenses="Apache-2.0 AND CC0-1.0 AND MIT" \
    org.opencontainers.image.source="https://example.org/cuihop" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.revision="$REVISION"
USER 10001:10001
VOLUME /var/cache/cuihop
EXPOSE 8080 50051
# Healthy is who can answer: /health/ready, with the settings of the environment or of CUIHOP_CONFIG, TLS or not.
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s --start-interval=3s --retries=3 \
    CMD ["python", "-m", "cuihop_service.health_check"]
ENTRYPOINT ["cuihop"]
CMD ["serve"]
