#!/usr/bin/env bash
# How far a ratio can be trusted on this GPU: the warp-specialised GEMM against itself in twenty pairs of runners, ten of them with every CPU
# of the host busy, then against cuBLASLt. Prints one line for each, and whether all twenty lie within 1.000 ± 0.003. Exit status 1 if not.
#
#   tests/gpu/timing_aa.sh [PACKAGE]
set -uo pipefail
package=$(realpath "${1:-$(dirname "${BASH_SOURCE[0]}")}")
probe=("$package/tests/timing_probe" --bundle "$package/bundles/gemm_warp_specialized.bundle" --workload gemm_n7168_k5120/M=8192
  --runner "$package/bin/profiler-runner")
lines=$(mktemp)
"${probe[@]}" --against itself --runs 10 --standard-error 0.0007 --time-cap 6 | tee "$lines"
busy=()
for _ in $(seq "$(nproc)"); do
  sh -c 'while :; do :; done' &
  busy+=($!)
done
trap 'kill "${busy[@]}" 2>/dev/null; rm -f "$lines"' EXIT
echo "with every CPU busy"
"${probe[@]}" --against itself --runs 10 --standard-error 0.0007 --time-cap 6 | tee -a "$lines"
"${probe[@]}" --against baseline --runs 2 --standard-error 0.002 --time-cap 4
awk '$2 == "ratio" { n++; if ($3 < 0.997 || $3 > 1.003) outside++ } END { printf "A/A: %d ratios, %d outside 1.000 ± 0.003\n", n, outside; exit n < 20 || outside > 0 }' "$lines"
