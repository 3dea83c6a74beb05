# A node: the service with its workers, the monitor that starts and watches it, bubblewrap, and NVIDIA's tools and libraries. The driver's
# own libraries come from the host (NVIDIA's container toolkit). deploy/images/build.sh builds it.
ARG BASE=debian:bookworm-20260918-slim@sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251
ARG PYTHON=python:3.11.16-slim-bookworm@sha256:0bee7276f83efd4a1ee05bbbf4281d95ed28e079220a9457f25a93e3f1e3c31b

# hadolint ignore=DL3006
FROM ${PYTHON} AS cuda
# cuda_tools.txt alone makes a node without cuBLAS and cuDNN, which says UNAVAILABLE for their baselines.
ARG WHEELS="cuda_tools.txt cuda_baselines.txt"
COPY deploy/images/cuda_tools.txt deploy/images/cuda_baselines.txt /wheels/
WORKDIR /wheels
RUN for list in ${WHEELS}; do \
      python3 -m pip install --no-cache-dir --no-deps --require-hashes --only-binary :all: --no-compile --target /wheels/site -r "${list}" || exit 1; \
    done && \
    mkdir -p /cuda && cp -a site/nvidia/cu13/. /cuda/ && \
    if [ -d site/nvidia/cudnn ]; then cp -a site/nvidia/cudnn/lib/. /cuda/lib/; fi && \
    find /cuda -name '*.a' -delete && ln -s lib /cuda/lib64

# hadolint ignore=DL3006
FROM ${BASE}
# Process 1: it reaps what sandboxes leave.
RUN apt-get update && apt-get install -y --no-install-recommends tini=0.19.0-1+b3 && rm -rf /var/lib/apt/lists/*
COPY --from=cuda /cuda /usr/local/cuda
COPY build/package/bin/profiler-service build/package/bin/profiler-judge build/package/bin/profiler-runner \
     build/package/bin/reliability-monitor build/package/bin/sassay-admin /opt/sassay/bin/
COPY build/package/libexec /opt/sassay/libexec
COPY build/package/lib /opt/sassay/lib
COPY build/package/share/sassay /opt/sassay/share/sassay
RUN groupadd --gid 10001 sassay && \
    useradd --uid 10001 --gid sassay --no-create-home --home-dir /var/lib/sassay --shell /usr/sbin/nologin sassay && \
    install -d -m 0700 -o sassay -g sassay /var/lib/sassay
ENV PATH=/opt/sassay/bin:/usr/local/cuda/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    SASSAY_CUDA_HOME=/usr/local/cuda \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
EXPOSE 9464 9465
ENTRYPOINT ["tini", "--"]
CMD ["reliability-monitor", "--state=/var/lib/sassay", "--supervise", "--", "profiler-service", "--role=node", "--state=/var/lib/sassay"]
