# The server in a small image that runs as an unprivileged user.
FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    cp "$(scripts/ship)" /palestra

FROM debian:bookworm-slim
# Certificates for PostgreSQL over TLS, curl for the health check.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/palestra palestra
COPY --from=build /palestra /usr/local/bin/palestra
USER palestra
WORKDIR /var/lib/palestra
ENV PALESTRA_LISTEN=0.0.0.0:7070 PALESTRA_DATA=/var/lib/palestra
VOLUME /var/lib/palestra
EXPOSE 7070
STOPSIGNAL SIGTERM
ENTRYPOINT ["palestra"]
CMD ["serve"]
