# Sourced by the scripts of this folder: a service from a package, on loopback, at a free port.
#   package      the package's folder: the first argument of the script, else the folder in which the script lies
#   out          where results go: $OUT, else a folder that is removed at the end
#   scratch      removed at the end
set -uo pipefail
package=$(realpath "${1:-$(dirname "${BASH_SOURCE[1]}")}")
[[ -x $package/bin/profiler-service ]] || { echo "$package is no package: make one with tests/gpu/package.sh FOLDER" >&2; exit 2; }
scratch=$(mktemp -d)
out=${OUT:-$scratch/out}
mkdir -p "$out"
service=

# start_service [flag…]: sets `address` and `metrics`; its log is $out/service.log. Ends the script if the service does not come up.
start_service() {
  rm -f "$scratch/port"
  "$package/bin/profiler-service" --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --port-file "$scratch/port" --state "$scratch/state" "$@" \
    >"$scratch/listen" 2>>"$out/service.log" &
  service=$!
  for _ in $(seq 400); do
    [[ -s $scratch/port ]] && break
    kill -0 "$service" 2>/dev/null || break
    sleep 0.1
  done
  [[ -s $scratch/port ]] || { cat "$out/service.log" >&2; echo "the service did not become ready" >&2; exit 1; }
  address=127.0.0.1:$(cat "$scratch/port")
  # It says so right after it has written the port.
  for _ in $(seq 100); do
    metrics=$(sed -n 's/.* metrics=//p' "$scratch/listen")
    [[ -n $metrics ]] && break
    sleep 0.1
  done
}

stop_service() {
  [[ -z $service ]] && return
  kill -TERM "$service" 2>/dev/null
  wait "$service" 2>/dev/null
  service=
}
# usage: how the GPUs of the latest services were leased and how many runners they took, as they said when they ended.
usage() { grep -oE '[^ ]* [^ ]* GPU-[^ ]*: .* times alone.*|[^ ]*: [0-9]+ runners started: .*' "$out/service.log" || true; }
trap 'stop_service; rm -rf "$scratch"' EXIT

# conclude NAME STATUS WHAT: the last line of a script, "PASS  NAME: WHAT" or "FAIL  NAME: WHAT", and its exit status.
conclude() {
  if [[ $2 == 0 ]]; then echo "PASS  $1: $3"; else echo "FAIL  $1: $3"; fi
  exit "$2"
}

# summary: what the latest measure said last.
summary() { grep -v '^json: ' "$scratch/measured" | tail -n 1; }

# measure EXPERIMENT [flag…]: turns.py against the service; results are added to $out/results.jsonl.
measure() {
  local experiment=$1 status
  shift
  python3 "$(dirname "${BASH_SOURCE[0]}")/turns.py" "$experiment" --package "$package" --service "$address" --pid "$service" \
    --state "$scratch/state" --metrics "$metrics" --out "$out" "$@" >"$scratch/measured"
  status=$?
  grep -v '^json: ' "$scratch/measured"
  sed -n 's/^json: //p' "$scratch/measured" >>"$out/results.jsonl"
  return $status
}
