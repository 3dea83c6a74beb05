#!/usr/bin/env bash
# Compares our counts of executed SASS with those of Nsight Compute, opcode by opcode, on kernels of a package made by
# tests/gpu/package.sh: the same launches (tests/counted_call), counted by us in one process and by ncu in another. Prints a table of what
# differs most, and a last line "PASS  evidence: …" or "FAIL  evidence: …"; exit status 1 if an opcode differs by more than 1 %, 77 where
# there is no ncu. How often a loop that waits goes round is another number in every run, ncu's runs among themselves too: opcodes of such
# loops are shown and marked, and decide nothing.
#
#   tests/gpu/evidence_against_ncu.sh [PACKAGE] [BUNDLE…]      default: gemm_wgmma_tma gemm_mma_sync attention_forward_naive
set -euo pipefail
package=$(realpath "${1:-$(dirname "${BASH_SOURCE[0]}")}")
shift || true
names=("$@")
[[ ${#names[@]} -gt 0 ]] || names=(gemm_wgmma_tma gemm_mma_sync attention_forward_naive)
# As deploy/ and the service find it: on the PATH, or where the toolkit lies.
PATH=$PATH:/usr/local/cuda/bin
command -v ncu >/dev/null || { echo "no ncu in PATH: install Nsight Compute"; exit 77; }
scratch=$(mktemp -d)
: >"$scratch/compared"
trap 'rm -rf "$scratch"' EXIT
metrics=sass__inst_executed_per_opcode_with_modifier_all,sass__thread_inst_executed_true_per_opcode_with_modifier_all
status=0
for name in "${names[@]}"; do
  bundle=$package/bundles/$name.bundle
  timeout 60 "$package/tests/counted_call" "$bundle" counted >"$scratch/ours.tsv" 2>"$scratch/ours.log" ||
    { cat "$scratch/ours.log"; echo "FAIL  evidence: our counts of $name failed"; exit 1; }
  timeout 120 ncu --clock-control none --metrics "$metrics" --print-metric-instances details --kernel-name-base mangled \
    --print-kernel-base mangled --csv "$package/tests/counted_call" "$bundle" plain >"$scratch/ncu.csv" 2>"$scratch/ncu.log" ||
    { cat "$scratch/ncu.csv" "$scratch/ncu.log"; echo "FAIL  evidence: Nsight Compute failed on $name"; exit 1; }
  python3 - "$name" "$scratch/ours.tsv" "$scratch/ncu.csv" "$scratch/compared" <<'PYTHON' || status=1
import collections, csv, re, sys

name, ours_file, ncu_file = sys.argv[1:4]
LIMIT = 0.01
WAITS = re.compile(r"BRA|SYNCS\.PHASECHK\..*TRYWAIT|USETMAXREG\.TRY_ALLOC|NANOSLEEP")
ours = {}
for line in open(ours_file):
    kernel, opcode, warps, threads = line.rstrip("\n").split("\t")
    ours[kernel, opcode] = [int(warps), int(threads)]
# "738 (LDC: 80; EXIT: 78; …)", once for each launch and metric; what ncu itself prints stands before the header.
lines = open(ncu_file).read().splitlines()
header = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
ncu = collections.defaultdict(lambda: [0, 0])
for row in csv.DictReader(lines[header:]):
    column = 1 if "thread" in row["Metric Name"] else 0
    for opcode, count in re.findall(r"([A-Z][\w.]*): ([\d,]+)", row["Metric Value"]):
        ncu[row["Kernel Name"], opcode][column] += int(count.replace(",", ""))
kernels = {kernel for kernel, _ in ours}
rows = []
for key in sorted(set(ours) | {key for key in ncu if key[0] in kernels}):
    mine, theirs = ours.get(key, [0, 0]), ncu.get(key, [0, 0])
    rows.append((max(abs(a - b) / max(a, b, 1) for a, b in zip(mine, theirs)), key, mine, theirs))
rows.sort(key=lambda row: (-row[0], -max(row[2])))
spins = any("TRYWAIT" in opcode for _, opcode in ours)


def waits(opcode):
    return spins and WAITS.match(opcode) is not None


apart = sum(difference > LIMIT and not waits(key[1]) for difference, key, *_ in rows)
print(f"{name}: {len(rows)} opcodes, {apart} differ by more than {LIMIT:.0%}, greatest difference "
      f"{max((row[0] for row in rows if not waits(row[1][1])), default=0):.4%}")
print(f"  {'opcode':36} {'warps':>14} {'ncu':>14} {'threads':>16} {'ncu':>16} {'difference':>10}")
for difference, (_, opcode), mine, theirs in rows[:8]:
    print(f"  {opcode:36} {mine[0]:14,} {theirs[0]:14,} {mine[1]:16,} {theirs[1]:16,} {difference:10.4%}{' waits' if waits(opcode) else ''}")
open(sys.argv[4], "a").write(f"{len(rows)} {apart} {max((row[0] for row in rows if not waits(row[1][1])), default=0)}\n")
sys.exit(apart > 0 or not ours)
PYTHON
done
read -r kernels opcodes apart greatest < <(awk '{ opcodes += $1; apart += $2; if ($3 > most) most = $3 }
  END { printf "%d %d %d %.4f\n", NR, opcodes, apart, 100 * most }' "$scratch/compared")
echo "$([[ $status == 0 ]] && echo PASS || echo FAIL)  evidence: $kernels kernels, $opcodes opcodes, $apart differ by more than 1 % from Nsight Compute, greatest difference $greatest %"
exit $status
