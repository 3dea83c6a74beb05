#!/usr/bin/env bash
# Scrapes service and monitor once a second while turns are judged, as Prometheus would, and keeps what they said in
# $OUT/metrics.om.gz for tests/metrics/replay.py. Exit status 1 if a metric that a healthy GPU has was never there, a scrape took long, or
# the monitor took more than 1 % of a core or 40 MB.
#
#   tests/gpu/metrics.sh [PACKAGE] [BUNDLE]      TURNS=6 DEVICE=cuda:0; BUNDLE: a name of the manifest [gemm_warp_specialized]
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
monitor= recorder=
end_all() {
  [[ -z $recorder ]] || { kill -TERM "$recorder" && wait "$recorder"; } 2>/dev/null
  [[ -z $monitor ]] || { kill -TERM "$monitor" && wait "$monitor"; } 2>/dev/null
  recorder= monitor=
}
trap 'end_all; stop_service; rm -rf "$scratch"' EXIT
start_service --device "${DEVICE:-cuda:0}"
"$package/bin/reliability-monitor" --service "$address" --state "$scratch/state" --metrics 127.0.0.1:0 >"$scratch/monitor" 2>"$out/monitor.log" &
monitor=$!
for _ in $(seq 100); do
  watched=$(sed -n 's/.*metrics=\([^ ]*\).*/\1/p' "$scratch/monitor")
  [[ -n $watched ]] && break
  kill -0 "$monitor" 2>/dev/null || { cat "$out/monitor.log" >&2; conclude metrics 1 "the monitor did not start"; }
  sleep 0.1
done
python3 "$here/record_metrics.py" "sassay-service=$metrics" "sassay-monitor=$watched" --out "$out/metrics.om.gz" \
  --table "$package/share/sassay/docs/metrics.md" >"$scratch/recorded" &
recorder=$!
bundle=${2:-gemm_warp_specialized}
size=$(awk -F '\t' -v name="$bundle" '$1 == name { print $2 }' "$package/speed.tsv")
measure stages --turns "${TURNS:-6}" --only "$bundle" --workload "$size" --most-seconds 60
sleep 3
end_all
cat "$scratch/recorded"
cat "$scratch/recorded" >>"$out/results.jsonl"
python3 - "$scratch/recorded" <<'CHECK' >"$scratch/said"
import json, sys
seen = json.load(open(sys.argv[1]))
# What a healthy GPU and a healthy service that has just been started need not have.
rare = {"sassay_gpu_xids_total", "sassay_incidents_open", "sassay_incidents_total", "sassay_rpcs_refused_total", "sassay_canary_ratio"}  # a ratio needs a history
missing = sorted(set(seen["not_seen"]) - rare)
monitor = seen["sassay-monitor"]
print(f"{seen['scrapes']} scrapes, slowest {seen['slowest_scrape_ms']} ms; the monitor took {100 * monitor['cpu_share']:.2f} % of a core and "
      f"{monitor['rss_mb']} MB; " + (f"never there: {', '.join(missing)}" if missing else "every metric was there"))
sys.exit(1 if missing or seen["slowest_scrape_ms"] > 500 or monitor["cpu_share"] > 0.01 or monitor["rss_mb"] > 40 else 0)
CHECK
conclude metrics $? "$(cat "$scratch/said")"
