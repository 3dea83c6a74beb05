#!/usr/bin/env bash
# Runs the GPU suite from a package made by tests/gpu/package.sh, on a host with an NVIDIA GPU: what the host has, the `gpu` test programs,
# and every bundle of the manifest through a service. Prints one line per case, what was skipped and why, and at the end
# "N passed, M failed"; keeps every verdict as JSON in the folder named by $OUT, if it is set. Exit status 1 if anything is not as expected.
#
#   tests/gpu/run.sh [PACKAGE] [PATTERN]     PATTERN: only the cases whose name it matches (extended regular expression)
#   JOBS=4                                   submissions at once
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
pattern=${2:-.}
passed=0 failed=0 skipped=0
check() { # description, ok?
  if [[ $2 == 0 ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED  $1"; fi
}

"$package/bin/profiler-service" --check --state "$scratch/state" | tee "$out/check.txt"
check "profiler-service --check" "${PIPESTATUS[0]}"

export SASSAY_TEST_BIN=$package/bin
for test in "$package"/tests/*_test; do
  name=$(basename "$test")
  grep -qE "$pattern" <<<"$name" || continue
  "$test" >"$scratch/test.log" 2>&1
  status=$?
  [[ $status == 0 ]] || cat "$scratch/test.log"
  # GoogleTest says why in the line before.
  awk -v program="$name" '/^\[  SKIPPED \] .* ms\)$/ { print "SKIPPED  " program " " $4 ": " reason; skipped++ } { reason = $0 }
    END { exit skipped > 0 }' "$scratch/test.log" || skipped=$((skipped + $(grep -c '^\[  SKIPPED \] .* ms)$' "$scratch/test.log")))
  printf '%-28s %s\n' "$name" "$(grep -E '^\[  (PASSED|FAILED)  \]' "$scratch/test.log" | head -n 1)"
  # What a test measured.
  grep -E '^(isolation|measured): ' "$scratch/test.log" || true
  check "$name" $status
done

start_service --device auto --device-deadline 3s
python3 "$(dirname "${BASH_SOURCE[0]}")/turns.py" suite --package "$package" --service "$address" --out "$out" --jobs "${JOBS:-4}" --only "$pattern" |
  tee "$scratch/suite"
stop_service
read -r suite_passed suite_failed < <(sed -n 's/^suite: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$scratch/suite")
passed=$((passed + ${suite_passed:-0}))
failed=$((failed + ${suite_failed:-1}))

if grep -qE "$pattern" <<<evidence; then
  bash "$(dirname "${BASH_SOURCE[0]}")/evidence.sh" "$package"
  check "what evidence says of known candidates" $?
fi

if grep -qE "$pattern" <<<diagnose; then
  bash "$(dirname "${BASH_SOURCE[0]}")/diagnose.sh" "$package"
  check "sanitizers and diagnoses of known candidates" $?
fi

if grep -qE "$pattern" <<<timing_aa; then
  RUNS=4 bash "$(dirname "${BASH_SOURCE[0]}")/timing_aa.sh" "$package"
  check "a candidate against itself" $?
fi

[[ $skipped == 0 ]] || echo "$skipped GPU tests skipped, for the reasons above"
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
