#!/usr/bin/env bash
# From a fresh clone to a verdict: installs what is missing, builds the programs, starts the service on the device it finds, submits an
# example kernel, shows the verdict, stops the service. Safe to run again; then it takes seconds.
#
#   bash deploy/quickstart.sh [KERNEL.cu [WORKLOAD]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kernel=${1:-agent/examples/gemm_tiled.cu}
workload=${2:-gemm_n256_k256/M=256}

deploy/install_dependencies.sh
deploy/build.sh release programs

bin=$PWD/build/release/bin
state=$(mktemp -d)
service_pid=
stop() {
  if [[ -n $service_pid ]]; then
    kill -TERM "$service_pid" 2>/dev/null || true
    wait "$service_pid" 2>/dev/null || true
  fi
  rm -rf "$state"
}
trap stop EXIT

"$bin/profiler-service" --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --port-file "$state/port" --state "$state/state" \
  --device auto >"$state/log" 2>&1 &
service_pid=$!
for _ in $(seq 100); do
  [[ -s $state/port ]] && break
  if ! kill -0 "$service_pid" 2>/dev/null; then
    cat "$state/log" >&2
    echo "quickstart: the service did not start" >&2
    exit 3
  fi
  sleep 0.1
done
[[ -s $state/port ]] || { cat "$state/log" >&2; echo "quickstart: the service did not become ready in 10 s" >&2; exit 3; }

status=0
"$bin/mini-ptx-agent" submit "$kernel" --workload "$workload" --service "127.0.0.1:$(cat "$state/port")" || status=$?
exit "$status"
