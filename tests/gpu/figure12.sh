#!/usr/bin/env bash
# The paper's Figure 12 as an experiment: what each of three things brings, by flags of the product.
#   state       the judge keeps inputs, references and baselines between turns (--judge-cache-share), or makes them anew
#   overlap     trajectories are written by their models while others are judged, or one turn after the other
#   sharing     stages of several candidates share the GPU, or each stage has it alone (--exclusive)
# Every line is the same turns: the published mix, in trajectories whose model needs GENERATION seconds for a turn.
#
#   tests/gpu/figure12.sh [PACKAGE]      TURNS=24 TRAJECTORIES=8 GENERATION=2 DEVICE=cuda:0 RIGHT=NAME WORKLOAD=SIZE: the turns that are right
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
common=(--turns "${TURNS:-24}" --trajectories "${TRAJECTORIES:-8}" --generation-seconds "${GENERATION:-2}"
  --right "${RIGHT:-gemm_warp_specialized}" --workload "${WORKLOAD:-gemm_n7168_k5120/M=8192}")

# line LABEL "flags of the service" "flags of turns.py"
line() {
  # shellcheck disable=SC2086
  start_service --device "${DEVICE:-cuda:0}" --device-deadline "${DEVICE_DEADLINE:-2s}" $2
  # shellcheck disable=SC2086
  measure generation "${common[@]}" --label "$1" $3 | grep -v '^json: '
  stop_service
}

line "nothing" "--judge-cache-share 0 --exclusive --jobs-per-device 1 --spare-runners 0" ""
line "state" "--exclusive --jobs-per-device 1 --spare-runners 0" ""
line "state, overlap" "--exclusive" "--overlap"
line "state, overlap, sharing" "" "--overlap"
line "overlap, sharing, no state" "--judge-cache-share 0" "--overlap"

python3 - "$out/results.jsonl" <<'PYTHON'
import json, sys
rows = [row for row in map(json.loads, open(sys.argv[1])) if row["experiment"] == "figure12"]
first = rows[0]["turns_per_hour"]
print(f"\n{'with':<32} {'turns/hour':>10} {'factor':>7}")
for row in rows:
    print(f"{row['label']:<32} {row['turns_per_hour']:>10} {row['turns_per_hour'] / first:>7.2f}")
PYTHON
