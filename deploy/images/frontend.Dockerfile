# A front end: gRPC and the store, no GPU, no sandbox. deploy/images/build.sh builds it.
ARG BASE=debian:bookworm-20260918-slim@sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251
# hadolint ignore=DL3006
FROM ${BASE}
COPY build/package/bin/profiler-service build/package/bin/sassay-admin /opt/sassay/bin/
COPY build/package/lib /opt/sassay/lib
COPY build/package/share/sassay /opt/sassay/share/sassay
RUN groupadd --gid 10001 sassay && \
    useradd --uid 10001 --gid sassay --no-create-home --home-dir /var/lib/sassay --shell /usr/sbin/nologin sassay && \
    install -d -m 0700 -o sassay -g sassay /var/lib/sassay
ENV PATH=/opt/sassay/bin:/usr/sbin:/usr/bin:/sbin:/bin
USER 10001:10001
EXPOSE 50051 9464
ENTRYPOINT ["profiler-service"]
CMD ["--role=frontend", "--state=/var/lib/sassay"]
