# The builder's steps are plain commands: tests/packaging runs them without a container engine.
ARG PYTHON_IMAGE=python:3.12-slim

FROM ${PYTHON_IMAGE} AS builder
WORKDIR /src
COPY pyproject.toml requirements.lock ./
# The build tools have an environment of their own, which is left behind; all is checked by hash.
RUN python -m venv /opt/build \
 && sed -n '/^uv==/,/[^\\]$/p' requirements.lock > /opt/build/uv.txt \
 && /opt/build/bin/pip install --no-cache-dir --require-hashes --requirement /opt/build/uv.txt \
 && /opt/build/bin/uv pip install --python /opt/build/bin/python \
    --require-hashes --constraint requirements.lock --group build
# What the service needs changes less often than its code, so it is a layer below.
RUN python -m venv --without-pip /opt/venv \
 && /opt/build/bin/uv pip install --compile-bytecode --python /opt/venv/bin/python \
    --require-hashes --constraint requirements.lock --requirement pyproject.toml
COPY README.md LICENSE ./
COPY app app
COPY migrations migrations
# What `memory-bank demo` shows.
COPY tests/data/conversations tests/data/conversations
RUN /opt/build/bin/python -m hatchling build --target wheel --directory /opt/wheel \
 && /opt/build/bin/uv pip install --compile-bytecode --python /opt/venv/bin/python \
    --no-deps /opt/wheel/*.whl

FROM ${PYTHON_IMAGE}
RUN groupadd --gid 10001 memory-bank \
 && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home \
    --shell /usr/sbin/nologin memory-bank \
 && install --directory --owner 10001 --group 10001 /data
COPY --from=builder /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH MEMORY_BANK_DATA_DIR=/data MEMORY_BANK_LOG_FORMAT=json
WORKDIR /data
VOLUME /data
EXPOSE 8000
USER 10001:10001
# Whether it answers at all: a server that waits for its database must not be killed for that.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
 CMD ["python", "-c", "import http.client, os; c = http.client.HTTPConnection('127.0.0.1', int(os.environ.get('MEMORY_BANK_PORT', '8000')), timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["memory-bank"]
CMD ["serve", "--host", "0.0.0.0"]
