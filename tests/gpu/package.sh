#!/usr/bin/env bash
# Makes the package that proves the CUDA device on a GPU host without compilers or packages of ours: deploy/package.sh's folder with the
# `gpu` tests, one bundle per candidate with what must become of it, and the scripts of this folder.
#
#   tests/gpu/package.sh FOLDER      then, on the GPU host: bash FOLDER/run.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$(realpath -m "${1:?usage: tests/gpu/package.sh FOLDER}")
bin=build/release/bin

deploy/build.sh release programs gpu_tests
rm -rf "$folder"
cmake --install build/release --prefix "$folder" --strip >/dev/null
cmake --install build/release --prefix "$folder" --strip --component gpu_tests >/dev/null
mkdir -p "$folder/bundles"
cp tests/gpu/*.sh tests/gpu/*.py "$folder/"
rm "$folder/package.sh"

# "NAME WORKLOAD STATUS[,…] CODE[,…] CHECK FLAGS", or why this candidate gives no bundle. Triton candidates (NAME.py, comments by #) are compiled
# here and called triton_NAME: where the package is going there is no Triton. A candidate with a line "// on cuda: STATUS CODE" among its
# first four ends otherwise on a GPU than on the emulated device; with " workload=NAME" in that line it is judged with that workload, with
# " submit="FLAGS"" it is submitted with these flags besides. One with
# "// at least RATIO of the library's speed: WORKLOAD" there is captured for that workload too, and goes into speed.tsv as "NAME WORKLOAD RATIO".
bundle() {
  local candidate=$1 head first workload cuda_workload expected name log speed also flags
  head=$(head -n 4 "$candidate" | sed 's#^\# #// #')
  first=$(head -n 1 <<<"$head")
  workload=$(sed -n 's/.*workload=\([^ ]*\).*/\1/p' <<<"$first")
  expected=$(sed -n 's#^// on cuda: \([^ ]*\) \([^ ]*\).*#\1\t\2#p' <<<"$head")
  cuda_workload=$(sed -n 's#^// on cuda: .* workload=\([^ ]*\).*#\1#p' <<<"$head")
  [[ -z $cuda_workload ]] || workload=$cuda_workload
  [[ -n $expected ]] || expected=$(sed -n 's#^// expect: \([^ ]*\) \([^ ]*\) .*#\1\t\2#p' <<<"$first")
  name=$(basename "$candidate")
  [[ $name != *.py ]] || name=triton_$name
  name=${name%.*}
  speed=$(sed -n 's#^// at least \([0-9.]*\) of the library.s speed: \([^ ]*\)$#\2\t\1#p' <<<"$head")
  also=$(sed -n 's#^// on cuda: .* check="\(.*\)"$#\1#p' <<<"$head")
  flags=$(sed -n 's#^// on cuda: .* submit="\([^"]*\)".*#\1#p' <<<"$head")
  log=$(mktemp)
  if ! "$bin/mini-ptx-agent" compile "$candidate" --workload "$workload${speed:+,${speed%%$'\t'*}}" -o "$folder/bundles/$name.bundle" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "package: $candidate does not compile and capture" >&2
    return 1
  fi
  rm -f "$log"
  [[ -z $speed ]] || printf '%s\t%s\n' "$name" "$speed" >>"$folder/speed.tsv"
  printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$workload" "$expected" "$also" "$flags"
}
export -f bundle
export bin folder
triton=(agent/examples/triton agent/interop/triton/testdata)
deploy/install_triton.sh --check >&2 || { echo "the package has no Triton candidates" >&2; triton=(); }
# What is refused before a bundle exists (tests/hostile/{compile,capture}) has nothing to prove on a GPU, and what is for another architecture
# (arch= in the first line) does not run on this one.
{ grep -rlE '^// expect: ' --include='*.cu' agent/examples agent/knowledge tests/hostile
  [[ ${#triton[@]} == 0 ]] || grep -rlE '^# expect: ' --include='*.py' "${triton[@]}"; } | xargs grep -LE '^// expect: .* arch=' | grep -vE '^tests/hostile/(compile|capture)/' | sort |
  xargs -P "$(nproc)" -I{} bash -c 'bundle {}' >"$folder/unsorted.tsv"
# For sanitize.sh: each with a plan for the size that is asked for and one for the sanitize shape.
sanitized() {
  local source definition full small log
  IFS=$'\t' read -r source definition full small <<<"$1"
  log=$(mktemp)
  if ! "$bin/mini-ptx-agent" compile "$source" --workload "$definition/$full,$definition/$small" \
    -o "$folder/sanitized/$(basename "$source" .cu).bundle" >"$log" 2>&1; then
    cat "$log" >&2
    echo "package: $source does not compile and capture for $definition at both of its shapes" >&2
    return 1
  fi
  rm -f "$log"
}
export -f sanitized
mkdir -p "$folder/sanitized"
cp tests/gpu/sanitized.tsv "$folder/"
grep -v '^#' tests/gpu/sanitized.tsv | tr '\n' '\0' | xargs -0 -P "$(nproc)" -I{} bash -c 'sanitized "$1"' _ {}
# For bench.sh.
tests/gpu/bench_bundles.sh "$folder/bundles" "$bin/mini-ptx-agent"
# Refused at the door: made for another GPU.
"$bin/mini-ptx-agent" compile agent/examples/gemm_naive.cu --arch sm_100a --workload gemm_n256_k256/M=64 \
  -o "$folder/bundles/for_another_gpu.bundle" >/dev/null 2>&1
printf 'for_another_gpu\tgemm_n256_k256/M=64\tREJECTED\tARCH_MISMATCH\t\t\n' >>"$folder/unsorted.tsv"
sort "$folder/unsorted.tsv" >"$folder/manifest.tsv"
rm "$folder/unsorted.tsv"
echo "$(du -sh "$folder" | cut -f1), $(wc -l <"$folder/manifest.tsv") bundles" >&2
