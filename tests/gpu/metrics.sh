#!/usr/bin/env bash
# What the monitor exports and what it costs, while turns are judged:
#   metrics      this host's GPUs: service and monitor scraped once a second. FAIL if a metric that a healthy GPU has was
#                never there, a scrape took long, or the monitor took more than 1 % of a core or 40 MB.
#   eight        the same with eight GPUs (multiplied_nvml.cc: each question about a copy is a real call), one of which is this service's;
#                scraped every five seconds, as deploy/prometheus does
#   eight_busy   the same with work on all eight at once, as a service says that does nothing else (busy_service.cc)
# What was scraped in the first is kept in $OUT/metrics.om.gz for tests/metrics/replay.py. Exit status 1 if one of them fails.
#
#   tests/gpu/metrics.sh [PACKAGE] [BUNDLE]      TURNS=6 DEVICE=cuda:0; BUNDLE: a name of the manifest [gemm_warp_specialized]
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
monitor= recorder= busy=
end() { [[ -z $1 ]] || { kill -TERM "$1" && wait "$1"; } 2>/dev/null; }
end_all() {
  end "$recorder"; end "$monitor"; end "$busy"
  recorder= monitor= busy=
}
trap 'end_all; stop_service; rm -rf "$scratch"' EXIT

# watch NAME SECONDS SERVICE [VARIABLE=VALUE…]: a monitor of that service, and a recorder that scrapes it so often.
watch() {
  local name=$1 every=$2 service=$3 watched=
  shift 3
  env "$@" "$package/bin/reliability-monitor" --service "$service" --state "$scratch/state-$name" --metrics 127.0.0.1:0 \
    >"$scratch/monitor-$name" 2>"$out/monitor-$name.log" &
  monitor=$!
  for _ in $(seq 100); do
    watched=$(sed -n 's/.*metrics=\([^ ]*\).*/\1/p' "$scratch/monitor-$name")
    [[ -n $watched ]] && break
    kill -0 "$monitor" 2>/dev/null || { cat "$out/monitor-$name.log" >&2; conclude "$name" 1 "the monitor did not start"; }
    sleep 0.1
  done
  # What its start takes is not what it takes.
  sleep 2
  python3 "$here/record_metrics.py" "sassay-service=$metrics" "sassay-monitor=$watched" --out "$out/$name.om.gz" \
    --table "$package/share/sassay/docs/metrics.md" --every "$every" >"$scratch/recorded-$name" &
  recorder=$!
}

# judge: turns, and a moment of quiet after them.
judge() {
  measure stages --turns "${TURNS:-6}" --only "$bundle" --workload "$size" --most-seconds 60
  sleep 3
}

# verdict NAME: PASS or FAIL and the numbers; 1 if it is a FAIL.
verdict() {
  end "$recorder"; recorder=
  grep -E '^(VmRSS|RssAnon|RssFile|Threads):' "/proc/$monitor/status" | tr -s '\t \n' ' '
  echo
  end_all
  cat "$scratch/recorded-$1" >>"$out/results.jsonl"
  python3 - "$1" "$scratch/recorded-$1" <<'CHECK'
import json, sys
name, seen = sys.argv[1], json.load(open(sys.argv[2]))
# What a healthy GPU and a healthy service that has just been started need not have.
rare = {"sassay_gpu_xids_total", "sassay_incidents_open", "sassay_incidents_total", "sassay_rpcs_refused_total", "sassay_canary_ratio"}  # a ratio needs a history
missing = sorted(set(seen["not_seen"]) - rare) if name == "metrics" else []
monitor = seen["sassay-monitor"]
bad = missing or seen["slowest_scrape_ms"] > 500 or monitor["cpu_share"] > 0.01 or monitor["rss_mb"] > 40
print(f"{'FAIL' if bad else 'PASS'}  {name}: {seen['scrapes']} scrapes in {seen['seconds']} s, slowest {seen['slowest_scrape_ms']} ms; the monitor took "
      f"{100 * monitor['cpu_share']:.2f} % of a core and {monitor['rss_mb']} MB; "
      + (f"never there: {', '.join(missing)}" if missing else "every metric was there"))
sys.exit(1 if bad else 0)
CHECK
}

start_service --device "${DEVICE:-cuda:0}"
bundle=${2:-gemm_warp_specialized}
size=$(awk -F '\t' -v name="$bundle" '$1 == name { print $2 }' "$package/speed.tsv")
failed=0

watch metrics 1 "$address"
judge
verdict metrics || failed=1

eight="LD_LIBRARY_PATH=$package/tests/multiplied_nvml:${LD_LIBRARY_PATH:-}"
watch eight 5 "$address" "$eight"
judge
verdict eight || failed=1

copies=$(env "$eight" "$package/bin/reliability-monitor" --once --service "$address" --state "$scratch/state-once" | awk '/^GPU-/ { print $1 }')
# shellcheck disable=SC2086
"$package/tests/busy_service" "$service" $copies >"$scratch/busy" &
busy=$!
for _ in $(seq 50); do
  [[ -s $scratch/busy ]] && break
  sleep 0.1
done
watch eight_busy 5 "$(sed -n 's/^listen=//p' "$scratch/busy")" "$eight"
judge
verdict eight_busy || failed=1
exit $failed
