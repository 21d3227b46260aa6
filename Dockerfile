# `edgeret serve` out of this checkout: docker build -t edgeret .   (docs/howto/languages.md; tests/image_run.py runs it)
# The first stage compiles the core, the second has no compiler. ONNX Runtime is left out: int8 bundles need none.
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev python3-venv
COPY . /src
RUN python3 -m venv /opt/edgeret
RUN /opt/edgeret/bin/pip install --no-cache-dir -c /src/constraints.txt /src 'uvicorn>=0.30'
RUN /opt/edgeret/bin/pip uninstall -y setuptools pip && \
    find /opt/edgeret -depth -type d \( -name tests -o -name __pycache__ \) -exec rm -rf {} +

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/edgeret /opt/edgeret
ENV PATH=/opt/edgeret/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1
USER nobody
EXPOSE 8090
ENTRYPOINT ["edgeret"]
CMD ["serve", "/bundle", "--listen", "0.0.0.0:8090", "--no-overlay"]
