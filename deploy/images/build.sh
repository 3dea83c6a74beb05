#!/usr/bin/env bash
# Builds the images sassay-frontend, sassay-node, sassay-builder and sassay-agent with docker, podman or buildah, whichever is there first (or $BUILDER).
#
#   deploy/images/build.sh [--own-base] [frontend] [node] [builder] [agent]        default: all
#
# --own-base makes the base image here, of Debian's packages (debootstrap, as root), instead of taking the pinned ones of a registry: for
# machines that reach Debian and PyPI only. Its images are for tests. $NODE_WHEELS replaces the node's lists of wheels: cuda_tools.txt alone
# saves more than a gigabyte, and leaves out cuBLAS and cuDNN.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

own_base=
images=()
for argument in "$@"; do
  case $argument in
    --own-base) own_base=yes ;;
    frontend | node | builder | agent) images+=("$argument") ;;
    *) echo "usage: deploy/images/build.sh [--own-base] [frontend] [node] [builder] [agent]" >&2; exit 2 ;;
  esac
done
[[ ${#images[@]} -gt 0 ]] || images=(frontend node builder agent)

# A client without its daemon builds nothing.
works() { command -v "$1" >/dev/null && "$1" info >/dev/null 2>&1; }
builder=${BUILDER:-}
if [[ -z $builder ]]; then
  for candidate in docker podman buildah; do
    if works "$candidate"; then builder=$candidate; break; fi
  done
fi
[[ -n $builder ]] || { echo "build: needs docker with its daemon, podman or buildah (apt-get install buildah)" >&2; exit 1; }

version=$(sed -n 's/^project(sassay VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[[ -d build/package/bin ]] || deploy/package.sh build/package

arguments=()
if [[ $own_base == yes ]]; then
  root=$(mktemp -d)
  trap 'rm -rf "$root" "$root.tar"' EXIT
  chmod 0755 "$root"
  debootstrap --variant=minbase --include=ca-certificates,python3,python3-pip bookworm "$root" >&2
  # What debootstrap leaves has no security updates, from which the pinned versions come.
  cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/" && rm -f "$root/etc/apt/sources.list"
  # Where registries are reached through a proxy, its certificate is in this machine's bundle.
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n' >"$root/etc/pip.conf"
  tar -C "$root" -cf "$root.tar" .
  if [[ $builder == buildah ]]; then
    base=$(buildah from scratch)
    buildah add -q "$base" "$root.tar" / >/dev/null
    buildah commit -q --rm "$base" localhost/sassay-base:bookworm >/dev/null
  else
    "$builder" import "$root.tar" localhost/sassay-base:bookworm >/dev/null
  fi
  arguments=(--build-arg BASE=localhost/sassay-base:bookworm --build-arg PYTHON=localhost/sassay-base:bookworm)
fi

for image in "${images[@]}"; do
  more=()
  [[ $image != node || -z ${NODE_WHEELS:-} ]] || more=(--build-arg "WHEELS=$NODE_WHEELS")
  "$builder" build "${arguments[@]}" "${more[@]}" -f "deploy/images/$image.Dockerfile" -t "sassay-$image:$version" . >&2
  echo "sassay-$image:$version"
done
