#!/usr/bin/env bash
# One turn with every stage, again and again: where its time goes, cold and with warm state.
#
#   tests/gpu/turn_time.sh [PACKAGE] [BUNDLE]      TURNS=10 DEVICE=cuda:0; BUNDLE: a name of the manifest [gemm_warp_specialized]
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
start_service --device "${DEVICE:-cuda:0}"
measure stages --turns "${TURNS:-10}" --only "${2:-gemm_warp_specialized}"
