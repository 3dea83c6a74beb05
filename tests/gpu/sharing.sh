#!/usr/bin/env bash
# Whether other candidates on the GPU move a timing: one candidate is timed alone and beside a stream of submissions that go through
# sanitize, evaluate and evidence, in turn. Exit status 1 if the median speed-up moves by more than 1 %.
#
#   tests/gpu/sharing.sh [PACKAGE] [BUNDLE]      TURNS=5 (pairs) JOBS=3 (of the stream) DEVICE=cuda:0
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
bundle=${2:-gemm_warp_specialized}
size=$(awk -F '\t' -v name="$bundle" '$1 == name { print $2 }' "$package/speed.tsv")
start_service --device "${DEVICE:-cuda:0}"
measure sharing --turns "${TURNS:-5}" --jobs "${JOBS:-3}" --only "$bundle" --workload "$size"
conclude sharing $? "$(summary)"
