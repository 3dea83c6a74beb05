#!/usr/bin/env bash
# On a host with two GPUs: a runner sees its own GPU and no other, a hang or a fault on one delays the other no more than any candidate there,
# and the published mix goes through both nearly twice as fast as through one.
#
#   tests/gpu/two_gpus.sh [PACKAGE]      TURNS=50 (on one GPU; twice as many on two) JOBS=8 (for each GPU) DEVICE_DEADLINE=1s SPARES=6
#
# Exit status 1 if one of the three does not hold.
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
turns=${TURNS:-50} jobs=${JOBS:-8} failed=0
flags=(--device-deadline "${DEVICE_DEADLINE:-1s}" --jobs-per-device "$jobs" --spare-runners "${SPARES:-6}")
gpus=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU ')
[[ $gpus -ge 2 ]] || conclude two_gpus 2 "this host has $gpus GPUs, two are needed"

SASSAY_TEST_BIN=$package/bin timeout 60 "$package/tests/runner_sandbox_gpu_test" --gtest_filter='*cuda*' >"$out/sandbox.txt" 2>&1 || failed=1
[[ $failed == 0 ]] && ! grep -q '^\[  SKIPPED' "$out/sandbox.txt" || { cat "$out/sandbox.txt"; failed=1; }
echo "sandbox: $(grep -E '^\[  (PASSED|FAILED)' "$out/sandbox.txt" | head -n 1)"

start_service --device cuda:0,1 "${flags[@]}"
measure beside --turns 5 || failed=1
measure mix --turns $((2 * turns)) --jobs $((2 * jobs)) --label "two GPUs" || failed=1
stop_service
start_service --device cuda:0 "${flags[@]}"
measure mix --turns "$turns" --jobs "$jobs" --label "one GPU" || failed=1
stop_service

usage
factor=$(python3 - "$out/results.jsonl" <<'PYTHON'
import json, sys

rate = {row["label"]: row["turns_per_hour"] for row in map(json.loads, open(sys.argv[1])) if row["experiment"] == "mix"}
factor = rate["two GPUs"] / rate["one GPU"]
print(f"two GPUs {rate['two GPUs']} turns/hour, one {rate['one GPU']}: factor {factor:.2f} (at least 1.9 expected)")
sys.exit(factor < 1.9)
PYTHON
) || failed=1
conclude two_gpus $failed "$factor"
