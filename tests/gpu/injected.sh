#!/usr/bin/env bash
# A wrong result injected into each stage is caught by the next: tests/injected on this host's GPU. Prints what was falsified and who
# noticed; exit status 1 if something was not noticed, or something was where nothing was falsified.
#
#   tests/gpu/injected.sh [PACKAGE]      DEVICE=cuda:0
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
python3 "$package/tests/injected/injected.py" --programs "$package/bin" --falsifiers "$package/tests/injected" --bundles "$package/bundles" \
  --device "${DEVICE:-cuda:0}" --out "$out" 2>"$out/injected.log" | tee "$scratch/injected"
status=${PIPESTATUS[0]}
[[ $status == 0 ]] || tail -n 20 "$out/injected.log"
conclude injected "$status" "$(tail -n 1 "$scratch/injected")"
