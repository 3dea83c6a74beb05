#!/usr/bin/env bash
# 100 turns as published trajectories have them (28 % refused at once, 25 % faults, 18 % wrong, 12 % hangs, the rest right) through one GPU:
# turns an hour, how busy the GPU was, and whether anything was left behind (GPU memory, processes, descriptors, threads, files).
#
#   tests/gpu/mix.sh [PACKAGE] [flag of turns.py mix…]      TURNS=100 JOBS=4 DEVICE=cuda:0 DEVICE_DEADLINE=3s
#
# Exit status 1 if a verdict is not what it must be, or something was left.
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
shift $(($# > 0))
start_service --device "${DEVICE:-cuda:0}" --device-deadline "${DEVICE_DEADLINE:-3s}"
measure mix --turns "${TURNS:-100}" --jobs "${JOBS:-4}" "$@"
