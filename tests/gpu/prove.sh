#!/usr/bin/env bash
# Everything that the GPU lane promises on an H200, from a package made by tests/gpu/package.sh, in one go: each experiment with a time
# limit of its own, and at the end the table of docs/measurements/h200.md from what they printed. A few minutes of GPU time.
#
#   tests/gpu/prove.sh [PACKAGE] [NAME…]      NAME: only these (the first column of the list below)
#
#   TOTAL=540      begin nothing after so many seconds (default: no limit)
#
# Keeps in $OUT (default: PACKAGE/proof) what each printed (NAME.log), every result as JSON (results.jsonl) and the table (table.md). Exit
# status 1 unless all pass. What needs two GPUs is left out where there is one, and the table says so.
set -uo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
package=$(realpath "${1:-$here}")
shift $(($# > 0))
export OUT=${OUT:-$package/proof}
mkdir -p "$OUT"
gpus=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU ')
[[ $gpus -ge 1 ]] || { echo "prove.sh: no GPU here" >&2; exit 2; }

# "NAME|SECONDS|GPUS|what is asked|command", what matters most first.
experiments() {
  cat <<'LIST'
turn_time|45|1|one turn under 2.5 s|bash turn_time.sh
mix|150|1|100 mixed turns in 90 s, nothing left behind|bash mix.sh
injected|110|1|a wrong result injected into each stage is caught by the next|bash injected.sh
evidence|60|1|evidence within 1 % of Nsight Compute|bash evidence_against_ncu.sh
two_gpus|180|2|two GPUs: nobody delays the other, the mix ≥ 1.9×|bash two_gpus.sh
fresh_starts|90|1|speed-up spread below 1 % on five fresh starts|bash fresh_starts.sh
sharing|75|1|other stages move a timing by at most 1 %|bash sharing.sh
figure12|150|1|Figure 12|bash figure12.sh
timing_aa|150|1|A/A within 1.000 ± 0.003, twenty runs|bash timing_aa.sh
sanitize|120|1|no tool condemns an honest kernel at its sanitize shape|env SHAPES=small TOTAL=90 bash sanitize.sh
metrics|180|1|every metric is there, the monitor takes < 1 % of a core and < 40 MB, for eight GPUs too|bash metrics.sh
cluster|120|1|a node with GPUs behind a front end: verdicts as they must be, although it is killed once|bash cluster.sh
disturbed|90|1|a timing that somebody disturbs is excluded and run again, a quiet one stands|bash disturbed.sh
speed|60|1|GEMM ≥ 0.85, forward ≥ 0.55, backward ≥ 0.30 of the library|bash speed.sh
sanitize_large|150|1|the same of a GEMM at M=8192, within every tool's deadline|env SHAPES=full bash sanitize.sh . gemm_warp_specialized
LIST
}

failed=0
{ echo "| asked | command | printed |"; echo "|---|---|---|"; } >"$OUT/table.md"
while IFS='|' read -r name seconds needed asked command; do
  [[ $# == 0 || " $* " == *" $name "* ]] || continue
  if [[ $gpus -lt $needed ]]; then
    echo "| $asked | \`$command\` | not run: this host has $gpus GPU |" >>"$OUT/table.md"
    echo "SKIP  $name: $needed GPUs needed, this host has $gpus"
    continue
  fi
  if [[ ${TOTAL:-0} -gt 0 && $SECONDS -gt ${TOTAL:-0} ]]; then
    echo "| $asked | \`$command\` | not run: no time was left |" >>"$OUT/table.md"
    echo "SKIP  $name: $SECONDS s are over, TOTAL is $TOTAL"
    continue
  fi
  begin=$SECONDS
  (cd "$package" && timeout -k 10 "$seconds" $command) >"$OUT/$name.log" 2>&1 </dev/null
  status=$?
  line=$(grep -E '^(PASS|FAIL)  ' "$OUT/$name.log" | tail -n 1)
  # Scripts that end otherwise: their last line, and their exit status.
  [[ -n $line ]] || line="$([[ $status == 0 ]] && echo PASS || echo FAIL)  $name: $(grep -v '^ ' "$OUT/$name.log" | tail -n 1)"
  [[ $status != 124 ]] || line="FAIL  $name: did not end within $seconds s: ${line#*: }"
  [[ $status == 0 ]] || failed=$((failed + 1))
  echo "$line ($((SECONDS - begin)) s)"
  echo "| $asked | \`$command\` | $([[ $status == 0 ]] || echo '**no**: ')${line#*: } |" >>"$OUT/table.md"
done < <(experiments)
echo
cat "$OUT/table.md"
[[ $failed == 0 ]]
