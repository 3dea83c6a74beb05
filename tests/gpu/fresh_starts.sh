#!/usr/bin/env bash
# The same candidate on five fresh starts of the service: how far apart its speed-ups are. Each start makes inputs, answers and the
# baseline's plan anew, and starts with a GPU that has rested. Exit status 1 if the largest lies 1 % or more above the smallest.
#
#   tests/gpu/fresh_starts.sh [PACKAGE] [BUNDLE]      STARTS=5 TURNS=2 (the median of so many after each start) DEVICE=cuda:0
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
bundle=${2:-gemm_warp_specialized}
size=$(awk -F '\t' -v name="$bundle" '$1 == name { print $2 }' "$package/speed.tsv")
for start in $(seq "${STARTS:-5}"); do
  start_service --device "${DEVICE:-cuda:0}"
  measure start --turns "${TURNS:-2}" --only "$bundle" --workload "$size" --label "start $start" || conclude fresh_starts 1 "$(summary)"
  stop_service
done
spread=$(python3 - "$out/results.jsonl" "${STARTS:-5}" <<'PYTHON'
import json, sys

file, starts = sys.argv[1:]
rows = [row for row in map(json.loads, open(file)) if row["experiment"] == "start"][-int(starts):]
speedups = [row["speedup"] for row in rows]
spread = max(speedups) / min(speedups) - 1
print(f"speed-ups {' '.join(f'{value:.4f}' for value in speedups)} on {len(rows)} fresh starts: spread {100 * spread:.2f} % (below 1 % expected)")
sys.exit(not (len(rows) == int(starts) and spread < 0.01))
PYTHON
)
conclude fresh_starts $? "$spread"
