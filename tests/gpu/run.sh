#!/usr/bin/env bash
# Runs the GPU suite from a package made by tests/gpu/package.sh, on a host with an NVIDIA GPU. Prints one line per case and a summary;
# keeps every verdict as JSON in the folder named by $OUT, if it is set. Exit status 1 if anything is not as expected.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LD_LIBRARY_PATH=$PWD/lib:${LD_LIBRARY_PATH:-}
out=${OUT:-$(mktemp -d)}
state=$(mktemp -d)
passed=0 failed=0
check() { # description, ok?
  if [[ $2 == 0 ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED  $1"; fi
}

export SASSAY_TEST_BIN=$PWD/bin
for test in tests/*_test; do
  "$test" --gtest_brief=1 >"$state/test.log" 2>&1
  status=$?
  [[ $status == 0 ]] || cat "$state/test.log"
  grep -E 'SKIPPED' "$state/test.log" | head -3
  check "$test" $status
done

bin/profiler-service --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --port-file "$state/port" --state "$state/state" --device auto >"$out/service.log" 2>&1 &
service=$!
trap 'kill -TERM $service 2>/dev/null; wait $service 2>/dev/null; rm -rf "$state"' EXIT
for _ in $(seq 200); do
  [[ -s $state/port ]] && break
  kill -0 $service 2>/dev/null || break
  sleep 0.1
done
[[ -s $state/port ]] || { cat "$out/service.log"; echo "the service did not become ready"; exit 1; }
address=127.0.0.1:$(cat "$state/port")

: >"$out/verdicts.jsonl"
while IFS=$'\t' read -r name workload statuses codes; do
  begin=$(date +%s%N)
  timeout 120 bin/mini-ptx-agent submit "bundles/$name.bundle" --workload "$workload" --service "$address" --json >"$state/verdict.json" 2>"$state/stderr"
  took=$((($(date +%s%N) - begin) / 1000000))
  read -r status code reason < <(python3 -c '
import json, sys
try:
    verdict = json.load(open(sys.argv[1]))
except ValueError:
    verdict = {}
open(sys.argv[2], "a").write(json.dumps(dict(verdict, candidate=sys.argv[3])) + "\n")
print(verdict.get("status", "NONE"), verdict.get("code", "NONE"), verdict.get("reason", "").replace("\n", " "))' "$state/verdict.json" "$out/verdicts.jsonl" "$name")
  ok=1
  [[ ,$statuses, == *,$status,* && ,$codes, == *,$code,* ]] && ok=0
  printf '%-28s %6d ms  %-20s %-22s %s\n' "$name" "$took" "$status" "$code" "$reason"
  [[ $ok == 0 ]] || cat "$state/stderr"
  check "$name: expected $statuses $codes" $ok
done <manifest.tsv

echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
