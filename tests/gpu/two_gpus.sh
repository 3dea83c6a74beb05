#!/usr/bin/env bash
# On a host with two GPUs: a runner sees its own GPU and no other, a hang on one does not delay the other, and the published mix goes
# through both nearly twice as fast as through one.
#
#   tests/gpu/two_gpus.sh [PACKAGE]      TURNS=50 (on one GPU; twice as many on two) DEVICE_DEADLINE=2s
#
# Exit status 1 if one of the three does not hold.
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
turns=${TURNS:-50} failed=0
flags=(--device-deadline "${DEVICE_DEADLINE:-2s}")
gpus=$(ls -d /proc/driver/nvidia/gpus/* 2>/dev/null | wc -l)
[[ $gpus -ge 2 ]] || { echo "this host has $gpus GPUs, two are needed" >&2; exit 2; }

SASSAY_TEST_BIN=$package/bin "$package/tests/runner_sandbox_gpu_test" --gtest_filter='*cuda*' >"$out/sandbox.txt" 2>&1 ||
  { cat "$out/sandbox.txt"; failed=1; }
grep -E '^\[  (PASSED|SKIPPED|FAILED)' "$out/sandbox.txt"

start_service --device cuda:0,1 "${flags[@]}"
measure beside --turns 5 | grep -v '^json: ' || failed=1
measure mix --turns $((2 * turns)) --jobs 8 --label "two GPUs" || failed=1
stop_service
start_service --device cuda:0 "${flags[@]}"
measure mix --turns "$turns" --jobs 4 --label "one GPU" || failed=1
stop_service

python3 - "$out/results.jsonl" <<'PYTHON' || failed=1
import json, sys
rate = {row["label"]: row["turns_per_hour"] for row in map(json.loads, open(sys.argv[1])) if row["experiment"] == "mix"}
factor = rate["two GPUs"] / rate["one GPU"]
print(f"two GPUs: {rate['two GPUs']} turns/hour, one: {rate['one GPU']}, factor {factor:.2f} (at least 1.9 expected)")
sys.exit(factor < 1.9)
PYTHON
exit $failed
