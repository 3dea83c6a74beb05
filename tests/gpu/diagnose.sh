#!/usr/bin/env bash
# Sanitizers and diagnoses through a whole service on a GPU: every tool of --sanitize full and every kind of --diagnose, on candidates of
# which it is known what must be said. Prints one line per candidate; exit status 1 if anything is not as expected. What a host lacks is
# UNAVAILABLE, and a failure here: this script proves the tools.
#
#   tests/gpu/diagnose.sh [PACKAGE]      a package made by tests/gpu/package.sh
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
start_service --device "${DEVICE:-auto}" --device-deadline 3s
failed=0
# Bundle, workload, flags, and what must hold (Python over the verdict).
while IFS='|' read -r name workload flags claim; do
  # shellcheck disable=SC2086
  "$package/bin/mini-ptx-agent" submit "$package/bundles/$name.bundle" --workload "$workload" --service "$address" --fresh --json \
    --artifacts "$scratch/artifacts" $flags >"$scratch/verdict.json" 2>"$scratch/stderr"
  cp "$scratch/verdict.json" "$out/diagnose_$name.json"
  python3 - "$scratch/verdict.json" "$scratch/artifacts" "$name" "$claim" <<'PYTHON' || { failed=1; cat "$scratch/stderr"; }
import json, os, sys

file, folder, name, claim = sys.argv[1:]
verdict = json.load(open(file))
tools = {report["tool"]: report for report in verdict.get("sanitizers", [])}
diagnoses = {report["kind"]: report for report in verdict.get("diagnoses", [])}
warps = verdict.get("details", {}).get("warps", [])
saved = [artifact["name"] for report in diagnoses.values() for artifact in report.get("artifacts", [])
         if os.path.getsize(os.path.join(folder, artifact["name"])) == int(artifact["size_bytes"])]
try:
    ok = bool(eval(claim))
except (KeyError, IndexError, OSError) as error:
    ok = False
    print(f"  {type(error).__name__}: {error}")
said = [f"{tool} {report['outcome']}" for tool, report in tools.items()]
said += [f"{kind} {report['outcome']}" for kind, report in diagnoses.items()]
print(f"{name:<24} {'ok' if ok else 'FAILED':<7} {verdict.get('status')}: {', '.join(said)}")
for report in list(tools.values()) + list(diagnoses.values()):
    for line in ([report["reason"]] if report.get("reason") else []) + report.get("summary", [])[:3]:
        print(f"    {report.get('tool') or report.get('kind')}: {line[:150]}")
if not ok:
    print(f"  expected {claim}")
sys.exit(not ok)
PYTHON
done <<'CANDIDATES'
gemm_wgmma_tma|gemm_n256_k256/M=256|--sanitize full --stages sanitize,evidence --diagnose ncu,hotspots|verdict["status"] == "CORRECT" and len(tools) == 4 and tools["memcheck"]["outcome"] == "CLEAN" and all(t["outcome"] != "UNAVAILABLE" for t in tools.values()) and diagnoses["NCU"]["outcome"] == "DONE" and saved[0].endswith(".ncu-rep") and diagnoses["HOTSPOTS"]["outcome"] == "DONE" and "HGMMA" in str(diagnoses["HOTSPOTS"]["hot"])
shared_race|gemm_n256_k256/M=64|--sanitize full --stages sanitize|tools["racecheck"]["advisory"][0]["code"] == "SHARED_RACE" and "shared_race.cu:" in tools["racecheck"]["advisory"][0]["where"]["source_line"] and not tools["memcheck"].get("convicting")
endless_loop|gemm_n256_k256/M=64|--sanitize none --stages evaluate --diagnose debug|verdict["status"] == "TIMEOUT" and diagnoses["DEBUG"]["outcome"] == "DONE" and any("endless_loop.cu:" in w["where"].get("source_line", "") for w in warps)
misaligned_vector|gemm_n256_k256/M=64|--sanitize none --stages evaluate --diagnose debug|diagnoses["DEBUG"]["outcome"] == "DONE" and diagnoses["DEBUG"]["reason"] == "Warp Misaligned Address" and "misaligned_vector.cu:" in warps[0]["where"]["source_line"]
CANDIDATES
stop_service
exit $failed
