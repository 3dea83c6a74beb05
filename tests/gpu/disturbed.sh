#!/usr/bin/env bash
# A real monitor beside a real service: a quiet timing is settled as it was measured; one beside which somebody else computes on the GPU (a second
# service and its workers, which this monitor does not know) is excluded, and run again when the GPU is quiet. Exit status 1 if one of them is
# not so, or if the two speed-ups differ by more than 3 %.
#
#   tests/gpu/disturbed.sh [PACKAGE] [BUNDLE]      DEVICE=cuda:0 FOR=8 (seconds); BUNDLE: a name of the manifest [gemm_warp_specialized]
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
bundle=${2:-gemm_warp_specialized}
size=$(awk -F '\t' -v name="$bundle" '$1 == name { print $2 }' "$package/speed.tsv")
monitor= stranger=
end() { [[ -z $1 ]] || { kill -TERM "$1" && wait "$1"; } 2>/dev/null; }
trap 'end "$stranger"; end "$monitor"; stop_service; rm -rf "$scratch"' EXIT
submit() { # SERVICE NAME: its verdict in $out/NAME.json, what was said meanwhile in $out/NAME.log
  "$package/bin/mini-ptx-agent" submit "$package/bundles/$bundle.bundle" --workload "$size" --service "$1" --fresh --json >"$out/$2.json" 2>"$out/$2.log"
}

# The stranger: judges the same kernel again and again.
disturb() {
  "$package/bin/profiler-service" --listen 127.0.0.1:0 --port-file "$scratch/other" --state "$scratch/other-state" --device "${DEVICE:-cuda:0}" \
    >/dev/null 2>"$out/stranger.log" &
  local other=$!
  trap 'kill -TERM $other; wait $other' EXIT
  local until=$((SECONDS + ${FOR:-8}))
  while [[ ! -s $scratch/other && $SECONDS -lt $until ]]; do sleep 0.1; done
  while [[ $SECONDS -lt $until ]]; do submit "127.0.0.1:$(cat "$scratch/other")" stranger; done
}

start_service --device "${DEVICE:-cuda:0}"
"$package/bin/reliability-monitor" --service "$address" --state "$scratch/state" --metrics '' >"$scratch/monitor" 2>"$out/monitor.log" &
monitor=$!
admin() { "$package/bin/sassay-admin" --service "$address" --json "$@"; }
for _ in $(seq 200); do
  admin gpus 2>/dev/null | grep -q '"healthy_through"' && break
  sleep 0.1
done

submit "$address" warm
submit "$address" quiet
disturb &
stranger=$!
# It has begun to use the GPU when its service is ready.
for _ in $(seq 150); do
  [[ -s $scratch/other ]] && break
  sleep 0.1
done
submit "$address" disturbed
wait "$stranger"
stranger=
# What was excluded late is run again when the GPU is quiet: who attaches hears how it ends.
id=$(sed -n 's/.*"submission_id": *"\([^"]*\)".*/\1/p' "$out/disturbed.json" | head -n 1)
for _ in $(seq 30); do
  "$package/bin/mini-ptx-agent" attach "$id" --service "$address" --json >"$out/disturbed.json" 2>>"$out/disturbed.log"
  grep -q '"attempt": *[2-9]' "$out/disturbed.json" && break
  sleep 1
done
admin incidents --since 10m >"$out/incidents.json"
python3 - "$out" <<'CHECK' >"$scratch/said"
import json, pathlib, sys
out = pathlib.Path(sys.argv[1])
quiet, disturbed = (json.loads((out / f"{name}.json").read_text()) for name in ("quiet", "disturbed"))
for name, verdict in (("quiet", quiet), ("disturbed", disturbed)):
    if "speedup" not in verdict.get("timing", {}):
        print(f"the {name} turn has no speed-up: {verdict.get('status', 'NONE')} {verdict.get('reason', '')}"[:300])
        sys.exit(1)
incidents = json.loads((out / "incidents.json").read_text())["incidents"]
foreign = [one for one in incidents if one["rule"] == "foreign_process"]
warnings = quiet["timing"].get("warnings", [])
ratio = disturbed["timing"]["speedup"] / quiet["timing"]["speedup"]
wrong = []
if quiet["timing"]["status"] not in ("MEASURED", "PROVISIONAL") or quiet.get("attempt", 1) != 1 or "excluded" in quiet:
    wrong.append("the quiet timing did not stand")
if any("monitor" in warning for warning in warnings):
    wrong.append(f"the quiet one was not watched: {warnings}")
if not foreign:
    wrong.append("the stranger was not seen")
if disturbed.get("attempt", 1) < 2:
    wrong.append("the disturbed timing was not run again")
if disturbed["timing"]["status"] not in ("MEASURED", "PROVISIONAL") or "excluded" in disturbed:
    wrong.append("the disturbed one has no timing in the end")
if abs(ratio - 1) > 0.03:
    wrong.append("its speed-up differs")
print(f"quiet: attempt {quiet.get('attempt', 1)}; disturbed: attempt {disturbed.get('attempt', 1)}, {len(foreign)} incidents foreign_process; "
      f"speed-ups differ by {100 * abs(ratio - 1):.2f} %" + "".join(f"; {one}" for one in wrong))
sys.exit(1 if wrong else 0)
CHECK
conclude disturbed $? "$(cat "$scratch/said")"
