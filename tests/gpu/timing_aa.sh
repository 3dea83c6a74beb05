#!/usr/bin/env bash
# How far a ratio can be trusted on this GPU: the warp-specialised GEMM against itself in RUNS pairs of runners, the second half with every
# CPU of the host busy, then against cuBLASLt. Prints one line for each, and whether all of them lie within 1.000 ± 0.003. Exit status 1 if not.
#
#   tests/gpu/timing_aa.sh [PACKAGE]      RUNS=20
set -uo pipefail
package=$(realpath "${1:-$(dirname "${BASH_SOURCE[0]}")}")
probe=("$package/tests/timing_probe" --bundle "$package/bundles/gemm_warp_specialized.bundle" --workload gemm_n7168_k5120/M=8192
  --runner "$package/bin/profiler-runner")
runs=${RUNS:-20}
lines=$(mktemp)
"${probe[@]}" --against itself --runs $((runs / 2)) --half-width 0.0014 --time-cap 6 | tee "$lines"
busy=()
for _ in $(seq "$(nproc)"); do
  sh -c 'while :; do :; done' &
  busy+=($!)
done
trap 'kill "${busy[@]}" 2>/dev/null; rm -f "$lines"' EXIT
echo "with every CPU busy"
"${probe[@]}" --against itself --runs $((runs - runs / 2)) --half-width 0.0014 --time-cap 6 | tee -a "$lines"
"${probe[@]}" --against baseline --runs 1 --half-width 0.004 --time-cap 4
awk -v runs="$runs" '$2 == "ratio" { n++; if ($3 < 0.997 || $3 > 1.003) outside++ } END { printf "A/A: %d ratios, %d outside 1.000 ± 0.003\n", n, outside; exit n < runs || outside > 0 }' "$lines"
