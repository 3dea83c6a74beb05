#!/usr/bin/env bash
# The paper's Figure 12 as an experiment: what each of three things brings, by flags of the product.
#   state       the judge keeps inputs, references and baselines between turns (--judge-cache-share), or makes them anew
#   overlap     trajectories are written by their models while others are judged, or one turn after the other
#   sharing     stages of several candidates share the GPU, or each stage has it alone (--exclusive)
# Every line is the same turns: the published mix, in trajectories whose model needs GENERATION seconds for a turn, after one right turn
# that is not counted. All lines take about 100 s; more turns and a GENERATION as long as a model's make the factors those of a cluster.
#
#   tests/gpu/figure12.sh [PACKAGE]      TURNS=16 TRAJECTORIES=8 GENERATION=0.5 DEVICE=cuda:0 DEVICE_DEADLINE=1s RIGHT=NAME WORKLOAD=SIZE:
#                                        the turns that are right
#
# Exit status 1 if a verdict is not what it must be, or another line is faster than the one that has everything.
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
common=(--turns "${TURNS:-16}" --trajectories "${TRAJECTORIES:-8}" --generation-seconds "${GENERATION:-0.5}"
  --right "${RIGHT:-gemm_warp_specialized}" --workload "${WORKLOAD:-gemm_n7168_k5120/M=8192}")
failed=0

# line LABEL "flags of the service" "flags of turns.py"
line() {
  # shellcheck disable=SC2086
  start_service --device "${DEVICE:-cuda:0}" --device-deadline "${DEVICE_DEADLINE:-1s}" $2
  # shellcheck disable=SC2086
  measure generation "${common[@]}" --label "$1" $3 || failed=1
  stop_service
}

line "nothing" "--judge-cache-share 0 --exclusive --jobs-per-device 1 --spare-runners 0" ""
line "state" "--exclusive --jobs-per-device 1 --spare-runners 0" ""
line "state, overlap" "--exclusive --jobs-per-device ${TRAJECTORIES:-8}" "--overlap"
line "state, overlap, sharing" "--jobs-per-device ${TRAJECTORIES:-8}" "--overlap"
line "overlap, sharing, no state" "--judge-cache-share 0 --jobs-per-device ${TRAJECTORIES:-8}" "--overlap"

table=$(python3 - "$out/results.jsonl" <<'PYTHON'
import json, sys

rows = [row for row in map(json.loads, open(sys.argv[1])) if row["experiment"] == "figure12"][-5:]
rate = {row["label"]: row["turns_per_hour"] for row in rows}
print(f"{'with':<28} {'turns/hour':>10} {'factor':>7}")
for label, turns in rate.items():
    print(f"{label:<28} {turns:>10} {turns / rate['nothing']:>7.2f}")
everything = rate["state, overlap, sharing"]
print(f"factor {everything / rate['nothing']:.2f} for everything together: " + "; ".join(f"{label} {rate[label]} turns/hour" for label in rate))
# Within 5 % of the best: a run differs from the next by so much, and what a kept state saves may be less.
sys.exit(len(rate) != 5 or everything < 0.95 * max(rate.values()))
PYTHON
) || failed=1
head -n -1 <<<"$table"
conclude figure12 $failed "$(tail -n 1 <<<"$table")"
