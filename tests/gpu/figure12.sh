#!/usr/bin/env bash
# The paper's Figure 12 as an experiment: what each of three things brings, by flags of the product.
#   state       the judge keeps inputs, references and baselines between turns (--workload-state-bytes), or makes them anew
#   overlap     trajectories are written by their models while others are judged, or one turn after the other
#   sharing     stages of several candidates share the GPU, or each stage has it alone (--exclusive)
# Every line is the same turns: the published mix, in trajectories whose model needs GENERATION seconds for a turn.
#
#   tests/gpu/figure12.sh [PACKAGE]      TURNS=24 TRAJECTORIES=8 GENERATION=2 RIGHT=gemm_warp_specialized DEVICE=cuda:0
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
common=(--turns "${TURNS:-24}" --trajectories "${TRAJECTORIES:-8}" --generation-seconds "${GENERATION:-2}")
[[ -z ${RIGHT:-} ]] || common+=(--right "$RIGHT")

# line LABEL "flags of the service" "flags of turns.py"
line() {
  # shellcheck disable=SC2086
  start_service --device "${DEVICE:-cuda:0}" --device-deadline 3s $2
  # shellcheck disable=SC2086
  measure generation "${common[@]}" --label "$1" $3 | grep -v '^json: '
  stop_service
}

stateless=
"$package/bin/profiler-service" --help | grep -q -- --workload-state-bytes && stateless="--workload-state-bytes 0"
[[ -n $stateless ]] || echo "this profiler-service has no --workload-state-bytes: state on and off cannot be told apart" >&2
line "nothing" "$stateless --exclusive --jobs-per-device 1 --spare-runners 0" ""
[[ -z $stateless ]] || line "state" "--exclusive --jobs-per-device 1 --spare-runners 0" ""
line "state, overlap" "--exclusive" "--overlap"
line "state, overlap, sharing" "" "--overlap"
[[ -z $stateless ]] || line "overlap, sharing, no state" "$stateless" "--overlap"

python3 - "$out/results.jsonl" <<'PYTHON'
import json, sys
rows = [row for row in map(json.loads, open(sys.argv[1])) if row["experiment"] == "figure12"]
first = rows[0]["turns_per_hour"]
print(f"\n{'with':<32} {'turns/hour':>10} {'factor':>7}")
for row in rows:
    print(f"{row['label']:<32} {row['turns_per_hour']:>10} {row['turns_per_hour'] / first:>7.2f}")
PYTHON
