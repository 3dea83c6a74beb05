#!/usr/bin/env bash
# Whether `mini-ptx-agent bench` can be trusted on this GPU: the warp-specialised GEMM against itself RUNS times, none of which may say faster or
# slower, and against itself with 3 % of idling behind it RUNS times, all of which must say slower. Bundles come from tests/gpu/bench_bundles.sh.
#
#   tests/gpu/bench.sh [PACKAGE]      RUNS=20 ROUNDS=5
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
runs=${RUNS:-20}
start_service --device auto
# bench CANDIDATE: "OUTCOME RATIO LOW HIGH" against the GEMM as it is.
bench() {
  "$package/bin/mini-ptx-agent" bench "$package/bundles/bench_$1.bundle" --against "$package/bundles/bench_gemm.bundle" \
    --workload gemm_n7168_k5120/M=4096 --rounds "${ROUNDS:-5}" --service "$address" --json 2>>"$out/bench.log" |
    tee -a "$out/bench.json" | python3 -c '
import json, sys
found = json.load(sys.stdin)
for shape in found.get("shapes", []):
    print(shape["outcome"], *(round(shape.get(name, 0), 4) for name in ("ratio", "ratio_low", "ratio_high")), shape.get("reason", ""))
if "message" in found: print("FAILED", found["message"])'
}
same=0 slower=0
for run in $(seq "$runs"); do
  line=$(bench gemm)
  echo "same    $run: $line"
  [[ $line == EQUAL* || $line == INCONCLUSIVE* ]] && same=$((same + 1))
  line=$(bench slower)
  echo "slower  $run: $line"
  [[ $line == SLOWER* ]] && slower=$((slower + 1))
done
[[ $same == "$runs" && $slower == "$runs" ]]
conclude bench $? "$same of $runs against itself are no difference, $slower of $runs find 3 %"
