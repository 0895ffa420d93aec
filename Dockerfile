# The operator's image: no compiler, no package manager's cache, no root.

# One abi3 wheel serves every Python from 3.11 on, so the builder's own Python need not be the image's.
FROM rust:1.95-slim-trixie AS wheel
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY requirements/dev.txt requirements/
RUN python3 -m venv /build \
    && awk '/^maturin==/ { on = 1 } on { print } on && !/\\$/ { exit }' requirements/dev.txt > /build/maturin.txt \
    && /build/bin/pip install --no-cache-dir --require-hashes -r /build/maturin.txt
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    /build/bin/maturin build --release --locked --compatibility linux --out /wheels

FROM python:3.13-slim-trixie AS install
COPY requirements/runtime.txt /requirements.txt
RUN python -m venv --without-pip /opt/openclaw \
    && pip --python /opt/openclaw/bin/python install --no-cache-dir --require-hashes -r /requirements.txt
COPY --from=wheel /wheels /wheels
RUN pip --python /opt/openclaw/bin/python install --no-cache-dir --no-deps --no-index /wheels/*.whl

FROM python:3.13-slim-trixie
COPY --from=install /opt/openclaw /opt/openclaw
ENV PATH=/opt/openclaw/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["openclaw"]
CMD ["run", "--metrics-address", "0.0.0.0:8080"]
