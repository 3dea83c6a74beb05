#!/usr/bin/env bash
# 2,600 random small kernels on an H200 beside the emulator, and what TMA takes and refuses.
#
#   tests/gpu/differential.sh make FOLDER [BUILD]    where ptxas is (BUILD: default build/dev): programs and cubins for the GPU host
#   FOLDER/differential.sh run                       on the GPU host; the programs' shared libraries may lie in FOLDER/lib
#
# `run` prints "SEED DIGEST" of each kernel's exact results as the GPU has them, which differential_test holds the emulator to
# (profiler_service/emulator/differential/h200_digests.txt), "RAW SEED WORD…" of some approximations (h200_approximations.txt), "DIFFERS …" for
# every value that the emulator has otherwise, and at the end how many there were. Exit status 1 if there was one.
set -uo pipefail
seeds=2600 group=100

make_folder() {
  local folder=$1 build=${2:-build/dev}
  mkdir -p "$folder"
  cp "$build"/tests/{differential,tma_rules} "$0" "$folder/"
  "$folder/tma_rules" ptx >"$folder/tma.ptx"
  for ((first = 0; first < seeds; first += group)); do
    "$folder/differential" draw --first $first --count $group --out "$folder/$first.ptx"
  done
  for text in "$folder"/*.ptx; do
    ptxas -arch=sm_90a -o "${text%.ptx}.cubin" "$text" || exit 1
  done
  rm "$folder"/*.ptx
}

# A kernel that hangs or faults ends the process: another one goes on behind it.
run_group() {
  local first=$1 from=$1 last
  while [[ $from -lt $((first + group)) ]]; do
    timeout 60 ./differential run --first "$first" --count $group --from "$from" --cubin "$first.cubin" --raw >group.txt 2>error.txt && status=0 || status=$?
    awk '$1 != "RAW" || ($2 % 20 == 12 && $2 < 300)' group.txt
    [[ $status != 0 ]] || return 0
    cat error.txt
    last=$(grep -oE '^(DEVICE seed )?[0-9]+' group.txt | grep -oE '[0-9]+$' | tail -n 1)
    from=$((${last:-$((first + group))} + 1))
  done
}

case ${1:-} in
  make) make_folder "${@:2}" ;;
  run)
    cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")" || exit 2
    export LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    for ((first = 0; first < seeds; first += group)); do run_group $first; done | tee answers.txt
    ./tma_rules tma.cubin cuda:0 >tma_gpu.txt
    ./tma_rules - emulated:sm_90a >tma_emulator.txt
    diff tma_emulator.txt tma_gpu.txt
    wrong=$(grep -cE '^(DIFFERS|DEVICE|EMULATOR)' answers.txt)
    echo "$(grep -cE '^[0-9]+ [0-9a-f]+$' answers.txt) kernels ran, $wrong disagreements"
    [[ $wrong == 0 ]]
    ;;
  *) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
