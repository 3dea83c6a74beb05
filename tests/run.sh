#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test that this machine can run. Ends with ctest's closing lines.
# Tests that need a GPU skip with a reason where there is none.
#
#   tests/run.sh [PRESET] [CTEST ARGUMENTS…]     PRESET: release (default), dev, clang (fuzz targets too), asan, tsan
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:-release}
shift || true

deploy/install_dependencies.sh
deploy/build.sh "$preset"
exec ctest --preset "$preset" "$@"
