#!/usr/bin/env bash
# One turn with every stage, again and again: where its time goes, cold and with warm state. Exit status 1 if the median turn takes more
# than MOST_SECONDS (2.5) from accepted to verdict.
#
#   tests/gpu/turn_time.sh [PACKAGE] [BUNDLE]      TURNS=5 DEVICE=cuda:0; BUNDLE: a name of the manifest [gemm_warp_specialized]; one of
#                                                  speed.tsv runs at the size that is there (gemm_n7168_k5120/M=8192)
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
start_service --device "${DEVICE:-cuda:0}"
bundle=${2:-gemm_warp_specialized}
size=$(awk -F '\t' -v name="$bundle" '$1 == name { print $2 }' "$package/speed.tsv")
measure stages --turns "${TURNS:-5}" --only "$bundle" --workload "$size" --most-seconds "${MOST_SECONDS:-2.5}"
conclude turn_time $? "$(grep '^accepted to verdict ' "$scratch/measured" | awk '{ print "accepted to verdict: first " $4 " ms, median " $5 " ms, longest " $6 " ms" }')"
