#!/usr/bin/env bash
# Builds every fuzz target and runs each for a while, as many at once as there are cores. Prints one line per target; a finding's input
# stays in build/clang/fuzz/corpus/TARGET.
#
#   tests/fuzz/run.sh [SECONDS]     600 unless told otherwise. (The test suite of the clang preset runs each for ten seconds.)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-600}
logs=build/clang/fuzz/logs
mkdir -p "$logs"

deploy/build.sh clang
# One line per target: its name, then its command with the other time.
ctest --test-dir build/clang -L fuzz --show-only=json-v1 | python3 -c '
import json, shlex, sys
for test in json.load(sys.stdin)["tests"]:
    command = [sys.argv[1] if word.startswith("-max_total_time=") else word for word in test["command"]]
    print(test["name"], shlex.join(command))' "-max_total_time=$seconds" >"$logs/commands"

# Ends with status 0 whatever it finds, so that the others go on.
fuzz() {
  local name=${1%% *} command=${1#* } log=$logs/${1%% *}.log verdict=clean
  eval "$command" >"$log" 2>&1 || verdict="FINDING, see $log"
  printf '%-20s %12s runs  %s\n' "$name" "$(grep -oE 'Done [0-9]+' "$log" | tail -n 1 | cut -d' ' -f2)" "$verdict"
}
export -f fuzz
export logs
xargs -a "$logs/commands" -d '\n' -P "$(nproc)" -I{} bash -c 'fuzz "$1"' _ {} | tee "$logs/summary"
! grep -q FINDING "$logs/summary"
