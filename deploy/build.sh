#!/usr/bin/env bash
# Configures and builds one preset; says nothing but progress when all is well.
#
#   deploy/build.sh PRESET [TARGET…]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:?usage: deploy/build.sh PRESET [TARGET…]}
shift
# Clones in different folders share one compiler cache.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A configured tree re-configures by itself when a CMake file changes.
if [[ ! -f build/$preset/build.ninja ]]; then
  cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
targets=()
for target in "$@"; do targets+=(--target "$target"); done
if [[ -t 2 ]]; then
  cmake --build --preset "$preset" "${targets[@]}" >&2
else
  cmake --build --preset "$preset" "${targets[@]}" >"$log" 2>&1 || { grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Generating|Running)' "$log" >&2; exit 1; }
fi
