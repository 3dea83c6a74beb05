# A builder: compiles and captures for clients that cannot (docs/cluster.md, "A builder"); no GPU. deploy/images/build.sh builds it.
ARG BASE=debian:bookworm-20260918-slim@sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251
ARG PYTHON=python:3.11.16-slim-bookworm@sha256:0bee7276f83efd4a1ee05bbbf4281d95ed28e079220a9457f25a93e3f1e3c31b

# hadolint ignore=DL3006
FROM ${PYTHON} AS cuda
COPY deploy/images/cuda_compiler.txt /wheels/
WORKDIR /wheels
RUN python3 -m pip install --no-cache-dir --no-deps --require-hashes --only-binary :all: --no-compile --target /wheels/site -r cuda_compiler.txt && \
    mkdir -p /cuda && cp -a site/nvidia/cu13/. /cuda/ && ln -s lib /cuda/lib64

# hadolint ignore=DL3006
FROM ${BASE}
# nvcc needs a host compiler.
RUN apt-get update && apt-get install -y --no-install-recommends \
      g++-12=12.2.0-14+deb12u1 libc6-dev=2.36-9+deb12u14 tini=0.19.0-1+b3 ca-certificates=20250419~deb12u2 && \
    ln -s g++-12 /usr/bin/g++ && ln -s gcc-12 /usr/bin/gcc && rm -rf /var/lib/apt/lists/*
COPY --from=cuda /cuda /usr/local/cuda
COPY --from=cuda /wheels/site/tvm_ffi /usr/local/lib/python3.11/dist-packages/tvm_ffi
COPY build/package/bin/profiler-service build/package/bin/mini-ptx-agent build/package/bin/sassay-admin /opt/sassay/bin/
COPY build/package/libexec /opt/sassay/libexec
COPY build/package/lib /opt/sassay/lib
COPY build/package/share/sassay /opt/sassay/share/sassay
RUN groupadd --gid 10001 sassay && \
    useradd --uid 10001 --gid sassay --no-create-home --home-dir /var/lib/sassay --shell /usr/sbin/nologin sassay && \
    install -d -m 0700 -o sassay -g sassay /var/lib/sassay
ENV PATH=/opt/sassay/bin:/usr/local/cuda/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    SASSAY_CUDA_HOME=/usr/local/cuda
USER 10001:10001
EXPOSE 50052
ENTRYPOINT ["tini", "--", "profiler-service"]
CMD ["--role=builder", "--state=/var/lib/sassay"]
