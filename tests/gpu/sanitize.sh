#!/usr/bin/env bash
# All tools of compute-sanitizer over honest kernels that use what the tools are known to err on (TMA, wgmma, mbarriers, warp
# specialisation, semaphores): none may be condemned, no tool may outlast its deadline, and what a tool could not do must be UNAVAILABLE with
# the reason. Prints a line per candidate and shape with each tool's outcome and time, then each distinct piece of advice.
#
#   tests/gpu/sanitize.sh [PACKAGE] [PATTERN]     a package made by tests/gpu/package.sh; PATTERN: of the candidate's name
#
#   DEVICE=cuda:0         another than the first one that is free
#   SHAPES="small full"     at the sanitize shape, and at the size that is asked for (only racecheck at the sanitize shape then)
#   TOTAL=120               begin nothing after so many seconds (default: no limit); what was left out is said and no failure
source "$(dirname "${BASH_SOURCE[0]}")/service.sh"
pattern=${2:-.}
start_service --device "${DEVICE:-auto}" --device-deadline 10s
failed=0 asked=0 left_out=0
printf '%-28s %-6s %-10s %-18s %-18s %-18s %s\n' candidate shape verdict memcheck synccheck initcheck racecheck
for shape in ${SHAPES:-small full}; do
  while IFS=$'\t' read -r source definition full small; do
    name=$(basename "$source" .cu)
    [[ $source != \#* ]] && grep -qE "$pattern" <<<"$name" || continue
    if [[ ${TOTAL:-0} -gt 0 && $SECONDS -gt ${TOTAL:-0} ]]; then
      left_out=$((left_out + 1))
      continue
    fi
    asked=$((asked + 1))
    axes=$full
    [[ $shape == full ]] || axes=$small
    "$package/bin/mini-ptx-agent" submit "$package/sanitized/$name.bundle" --workload "$definition/$axes" --service "$address" --fresh \
      --sanitize full --stages sanitize --run-deadline 10m --json >"$scratch/verdict.json" 2>"$scratch/stderr"
    cp "$scratch/verdict.json" "$out/sanitize_${name}_$shape.json"
    python3 - "$scratch/verdict.json" "$name" "$shape" <<'PYTHON' || { failed=$((failed + 1)); cat "$scratch/stderr"; }
import collections, json, sys

file, name, shape = sys.argv[1:]
LONGEST_S = {"memcheck": 60, "synccheck": 60, "initcheck": 60, "racecheck": 120}
END_S = 25  # the runner's start and the tool's end
try:
    verdict = json.load(open(file))
except ValueError:
    print(f"{name:<28} {shape:<6} no verdict")
    sys.exit(1)
tools = {report["tool"]: report for report in verdict.get("sanitizers", [])}
cells, wrong = [], []
for tool, longest in LONGEST_S.items():
    report = tools.get(tool)
    if report is None:
        cells.append("not asked")
        wrong.append(f"{tool} gave no report")
        continue
    seconds = int(report.get("wall_ns", 0)) / 1e9
    advice = len(report.get("advisory", []))
    cells.append(f"{report['outcome'].lower() + (f' ({advice})' if advice else '')} {seconds:.1f} s")
    if report.get("convicting"):
        wrong.append(f"{tool} condemns it: {report['convicting'][0].get('message')}")
    if report["outcome"] == "UNAVAILABLE" and not report.get("reason"):
        wrong.append(f"{tool} is UNAVAILABLE without a reason")
    if seconds > longest + END_S:
        wrong.append(f"{tool} took {seconds:.0f} s")
if verdict.get("status") != "CORRECT":
    wrong.append(f"{verdict.get('status')} {verdict.get('code')}: {verdict.get('reason')}")
print(f"{name:<28} {shape:<6} {verdict.get('status', 'NONE'):<10} {cells[0]:<18} {cells[1]:<18} {cells[2]:<18} {cells[3]}")
for tool, report in tools.items():
    if report["outcome"] == "UNAVAILABLE":
        print(f"    {tool}: {report.get('reason', '')[:170]}")
    texts = collections.Counter()
    for finding in report.get("advisory", []):
        texts[f"{finding.get('code')} {finding.get('message', '')}"] += int(finding.get("count", 1))
    for text, count in texts.most_common(2):
        print(f"    {tool} advises: {text[:170]} x {count}")
    if len(texts) > 2:
        print(f"    {tool} advises of {len(texts) - 2} more")
for text in wrong:
    print(f"    WRONG: {text}")
sys.exit(bool(wrong))
PYTHON
  done <"$package/sanitized.tsv"
done
stop_service
what="$asked honest runs, $failed condemned or out of bounds"
[[ $left_out == 0 ]] || what+=", $left_out left out for lack of time"
conclude sanitize "$((failed > 0))" "$what"
