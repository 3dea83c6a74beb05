#!/usr/bin/env bash
# Makes the package that proves the CUDA device on a GPU host without compilers or packages of ours: the programs, the `gpu` tests, and
# one bundle per candidate with what must become of it.
#
#   tests/gpu/package.sh FOLDER      then, on the GPU host: bash FOLDER/run.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=${1:?usage: tests/gpu/package.sh FOLDER}
bin=build/release/bin

deploy/build.sh release
rm -rf "$folder"
deploy/package.sh "$folder"
mkdir -p "$folder/tests" "$folder/bundles"
cp tests/gpu/run.sh "$folder/"
for test in $(ctest --test-dir build/release -N -L gpu | sed -n 's/.*: \([a-z_]*_test\):.*/\1/p' | sort -u); do
  cp "build/release/tests/$test" "$folder/tests/"
  strip "$folder/tests/$test"
done
cp build/release/tests/test_kernels.ptx "$folder/tests/"
# Libraries that only the tests need.
ldd "$folder"/tests/*_test 2>/dev/null | awk '$3 ~ /^\// {print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux-x86-64)\.so' | xargs -r -I{} cp -Lu {} "$folder/lib/"

# A candidate whose second line reads "// on cuda: STATUS CODE" ends otherwise on a GPU than on the emulated device.
: >"$folder/manifest.tsv"
for candidate in agent/examples/*.cu tests/hostile/{honest,memory,numerics,hang,cheating}/*.cu; do
  first=$(head -n 1 "$candidate")
  workload=$(sed -n 's/.*workload=\([^ ]*\).*/\1/p' <<<"$first")
  expected=$(sed -n '1,4s#^// on cuda: \([^ ]*\) \([^ ]*\).*#\1\t\2#p' "$candidate")
  [[ -n $expected ]] || expected=$(sed -n 's#^// expect: \([^ ]*\) \([^ ]*\) .*#\1\t\2#p' <<<"$first")
  name=$(basename "$candidate" .cu)
  if "$bin/mini-ptx-agent" compile "$candidate" --workload "$workload" -o "$folder/bundles/$name.bundle" >"$folder/compile.log" 2>&1; then
    printf '%s\t%s\t%s\n' "$name" "$workload" "$expected" >>"$folder/manifest.tsv"
  else
    cat "$folder/compile.log" >&2
    echo "package: $candidate does not compile and capture" >&2
    exit 1
  fi
done
rm -f "$folder/compile.log"
wc -l <"$folder/manifest.tsv" >&2
