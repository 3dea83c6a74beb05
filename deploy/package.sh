#!/usr/bin/env bash
# Makes a folder that runs on any x86-64 Linux with glibc 2.36 or newer: bin/, lib/, libexec/ (bubblewrap) and share/. What goes in is said
# by deploy/cmake/package.cmake; NVIDIA's driver and libraries are found where the folder runs (bin/profiler-service --check).
#
#   deploy/package.sh FOLDER          the folder
#   deploy/package.sh FILE.tar.gz     the same, packed by CPack
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${1:?usage: deploy/package.sh FOLDER|FILE.tar.gz}

deploy/build.sh release programs
# What admission knows of vendor libraries: those of this machine. A host with others makes lists of its own.
build/release/bin/vendor-kernels -o build/release/vendor_kernels >&2 ||
  echo "the package carries no lists of vendor kernels" >&2
if [[ $target == *.tar.gz ]]; then
  made=$(mktemp -d)
  trap 'rm -rf "$made"' EXIT
  cpack --config build/release/CPackConfig.cmake -B "$made" >/dev/null
  mv "$made"/*.tar.gz "$target"
else
  cmake --install build/release --prefix "$(realpath -m "$target")" --strip >/dev/null
fi
du -sh "$target" >&2
