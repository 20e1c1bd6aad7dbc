# The HTTP server (docs/how-to/serve.md). The first stage compiles, the second only runs.
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[serve]"

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels "spacevrp[serve]" && rm -rf /wheels \
    && useradd --create-home --uid 10001 spacevrp && mkdir /data && chown spacevrp /data
USER spacevrp
VOLUME /data
EXPOSE 8080
# The token comes from the variable SPACEVRP_TOKEN.
HEALTHCHECK CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/health')"
ENTRYPOINT ["spacevrp", "serve", "--host", "0.0.0.0", "--data", "/data"]
