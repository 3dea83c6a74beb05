#!/usr/bin/env bash
# 100 turns as published trajectories have them (28 % refused at once, 25 % faults, 18 % wrong, 12 % hangs, the rest right) through one GPU:
# turns an hour, how busy the GPU was, and whether anything was left behind (GPU memory, processes, descriptors, threads, files).
#
#   tests/gpu/mix.sh [PACKAGE] [flag of turns.py mix…]      TURNS=100 JOBS=8 DEVICE=cuda:0 DEVICE_DEADLINE=1s MOST_SECONDS=90
#                                                           SPARES=6 (runners that come up while a hang is watched)
#
# Exit status 1 if a verdict is not what it must be, something was left, or the turns took longer than MOST_SECONDS (0: any time will do).
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
shift $(($# > 0))
start_service --device "${DEVICE:-cuda:0}" --device-deadline "${DEVICE_DEADLINE:-1s}" --jobs-per-device "${JOBS:-8}" \
  --spare-runners "${SPARES:-6}"
measure mix --turns "${TURNS:-100}" --jobs "${JOBS:-8}" --most-seconds "${MOST_SECONDS:-90}" "$@"
status=$?
stop_service
usage
conclude mix $status "$(grep ' turns in ' "$scratch/measured")"
