#!/usr/bin/env bash
# Makes the two bundles of tests/gpu/bench.sh: the warp-specialised GEMM, and the same with a kernel behind it that idles for PLANTED_NS.
#
#   tests/gpu/bench_bundles.sh FOLDER AGENT      PLANTED_NS=9000: with its launch 3 % of the 0.39 ms that it takes for M=4096 on an H200
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=${1:?usage: tests/gpu/bench_bundles.sh FOLDER AGENT}
agent=${2:?usage: tests/gpu/bench_bundles.sh FOLDER AGENT}
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
mkdir -p "$folder"
cp agent/examples/hopper/hopper.cuh "$sources"
cp agent/examples/hopper/gemm_warp_specialized.cu "$sources/gemm.cu"
{
  cat <<IDLE
__global__ void Idle() {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < ${PLANTED_NS:-9000});
}
IDLE
  sed 's/^  Gemm<<<.*/&\n  Idle<<<1, 1, 0, stream>>>();/' "$sources/gemm.cu"
} >"$sources/slower.cu"
for name in gemm slower; do
  mkdir "$sources/$name"
  cp "$sources/hopper.cuh" "$sources/$name/"
  cp "$sources/$name.cu" "$sources/$name/kernel.cu"
  "$agent" compile "$sources/$name/kernel.cu" --workload gemm_n7168_k5120/M=4096 -o "$folder/bench_$name.bundle" >/dev/null
done
