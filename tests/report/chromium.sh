#!/usr/bin/env bash
# Opens the report's page in a headless Chromium, light and dark: fails on any message of the console and on any request. Skipped (77),
# with the reason, where there is no Chromium: `apt-get install --no-install-recommends chromium` (350 MB, so no dependency of the build).
#
#   tests/report/chromium.sh AGENT [PICTURES]     PICTURES: also write report_light.png and report_dark.png there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
agent=$1
pictures=${2:-}

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $chromium ]]; then
  echo "SKIPPED: no chromium here; apt-get install --no-install-recommends chromium"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# open PAGE dark|light [FLAGS…]: what the browser says of itself and of the page goes to $work/log.
open() {
  local page=$1 scheme=1
  [[ $2 == light ]] || scheme=0
  shift 2
  local flags=(--headless=new --disable-gpu --hide-scrollbars --no-first-run --disable-component-update --disable-background-networking
    --user-data-dir="$work/profile" --host-resolver-rules='MAP * ~NOTFOUND' --blink-settings=preferredColorScheme=$scheme
    --enable-logging=stderr --log-level=0 --virtual-time-budget=2000)
  [[ $(id -u) -ne 0 ]] || flags+=(--no-sandbox)
  timeout 120 "$chromium" "${flags[@]}" "$@" "file://$page" >"$work/out" 2>"$work/log" || {
    tail -20 "$work/log"
    echo "FAILED: chromium did not open $page"
    exit 1
  }
}

said() { grep -E 'CONSOLE' "$work/log" || true; }

# The check can fail: a page that breaks its own policy says so.
printf '<!doctype html><meta http-equiv=Content-Security-Policy content="default-src %s"><img src="http://example.invalid/x.png">' "'none'" >"$work/bad.html"
open "$work/bad.html" light --dump-dom
[[ -n $(said) ]] || { echo "FAILED: a page that asks for an image says nothing on the console; this check sees nothing"; exit 1; }

HOME=$work "$agent" report tests/data/report/published_turns_hopper.csv -o "$work/report.html" 2>/dev/null
for scheme in light dark; do
  open "$work/report.html" $scheme --dump-dom
  [[ -z $(said) ]] || { said; echo "FAILED: the page says something on the console ($scheme)"; exit 1; }
  grep -q '</html>' "$work/out" && grep -q '0.976' "$work/out" || { echo "FAILED: the page is not whole ($scheme)"; exit 1; }
  # Dark and light are two pictures.
  open "$work/report.html" $scheme --window-size=1280,3170 --screenshot="$work/report_$scheme.png"
  [[ -s $work/report_$scheme.png ]] || { echo "FAILED: no picture ($scheme)"; exit 1; }
done
! cmp -s "$work/report_light.png" "$work/report_dark.png" || { echo "FAILED: the page looks the same in the dark"; exit 1; }
# 10,000 turns: 21 models, five definitions, 12 trajectories of 8 turns each.
awk 'BEGIN {
  split("Correct,Compilation error,Runtime error,Numerical error,Kernel Execution Timeout", class, ",")
  print "model,arch,definition,workload,trajectory_id,turn,correctness,speedup,correct_with_arch"
  for (i = 0; i < 10000; ++i) {
    what = (i * 7919) % 7; what = what > 4 ? 1 : what + 1; correct = what == 1
    printf "model %d,hopper,definition_%d,uuid,exp_%03d,%d,%s,%.6f,%d\n", i / 480, int(i / 96) % 5, int(i / 8) % 12, i % 8,
           class[what], correct ? (i * 31 % 1000 + 1) / 900 : 0, correct && i % 3
  }
}' >"$work/many.csv"
HOME=$work "$agent" report "$work/many.csv" -o "$work/many.html" 2>/dev/null
bytes=$(stat -c %s "$work/many.html")
((bytes < 5000000)) || { echo "FAILED: 10,000 turns make a page of $bytes bytes"; exit 1; }
open "$work/many.html" light --dump-dom
[[ -z $(said) ]] || { said; echo "FAILED: the page of 10,000 turns says something on the console"; exit 1; }
grep -q '<b>10,000</b> turns' "$work/out" || { echo "FAILED: the page of 10,000 turns is not whole"; exit 1; }

[[ -z $pictures ]] || cp "$work"/report_{light,dark}.png "$pictures/"
echo "OK: $("$chromium" --version 2>/dev/null), $(stat -c %s "$work/report.html") bytes, 10,000 turns: $bytes bytes; nothing on the console"
