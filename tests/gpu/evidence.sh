#!/usr/bin/env bash
# What the evidence stage says through a whole service on a Hopper GPU, against what is known of the candidates beforehand. Prints one line
# per candidate; exit status 1 if anything is not as expected.
#
#   tests/gpu/evidence.sh [PACKAGE]      a package made by tests/gpu/package.sh
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
start_service --device auto
failed=0
# Bundle, workload, status, warp executions of one opcode ("-" for none), the tensor cores' share of the workload's FLOPs.
while read -r name workload status opcode warps share; do
  "$package/bin/mini-ptx-agent" submit "$package/bundles/$name.bundle" --workload "$workload" --service "$address" --fresh --stages evidence --json \
    >"$scratch/verdict.json" 2>"$scratch/stderr" || cat "$scratch/stderr"
  python3 - "$scratch/verdict.json" "$name" "$status" "$opcode" "$warps" "$share" <<'PYTHON' || failed=1
import json, sys

file, name, status, opcode, warps, share = sys.argv[1:]
verdict = json.load(open(file))
evidence = verdict.get("evidence", {})
counted = sum(int(row.get("warp_count", 0)) for row in evidence.get("opcodes", []) if row["opcode"] == opcode)
stage = next((stage for stage in verdict.get("stages", []) if stage.get("stage") == "EVIDENCE"), {})
ok = (evidence.get("status") == status and counted == int(warps)
      and abs(evidence.get("tensor_core_flop_share", -1) - float(share)) < 1e-9)
print(f"{name:<28} {'ok' if ok else 'FAILED':<7} {evidence.get('status')} {opcode} x {counted}, share "
      f"{evidence.get('tensor_core_flop_share')}, {int(stage.get('wall_ns', 0)) / 1e6:.0f} ms {evidence.get('reason', '')}")
if not ok:
    print(f"  expected {status}, {opcode} x {warps}, share {share}; verdict {verdict.get('status')}: {verdict.get('reason')}")
sys.exit(not ok)
PYTHON
done <<'CANDIDATES'
gemm_wgmma_tma            gemm_n256_k256/M=256  DYNAMIC_PRESENT       HGMMA.64x128x16.F32.BF16  512   1
gemm_mma_sync             gemm_n256_k256/M=64   CUBIN_SASS_ABSENT     HMMA.16816.F32.BF16       2048  1
gemm_tiled                gemm_n256_k256/M=64   CUBIN_SASS_ABSENT     -                         0     0
tensor_cores_never_taken  gemm_n256_k256/M=64   DYNAMIC_NOT_EXECUTED  -                         0     0
CANDIDATES
stop_service
exit $failed
