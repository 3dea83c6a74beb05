#!/usr/bin/env bash
# Submits every example that promises a share of the library's speed ("// at least RATIO of the library's speed: WORKLOAD"), one at a time,
# from a package made by tests/gpu/package.sh, on a host with an NVIDIA GPU. Exit status 1 unless all are CORRECT, execute the target's own
# instructions and are so fast.
#
#   tests/gpu/speed.sh [PACKAGE]
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
start_service --device auto
python3 "$(dirname "${BASH_SOURCE[0]}")/turns.py" speed --package "$package" --service "$address" --out "$out"
