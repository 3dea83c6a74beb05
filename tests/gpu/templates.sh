#!/usr/bin/env bash
# Runs the self-checking candidates of the template library, and the example that models are shown, on this host's GPU, by themselves. Needs
# nvcc and a Hopper GPU, not a package. Prints a line per candidate; exit status 1 if one is wrong.
#
#   tests/gpu/templates.sh [--build FOLDER]     only builds, for another host: FOLDER/NAME each
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
folder=$(mktemp -d) only_build=no
[[ ${1:-} != --build ]] || { folder=$2 only_build=yes; mkdir -p "$folder"; }
failed=0
for candidate in testdata/{common,mbarrier,tma,clusters,wgmma}.cu text/example_sm_90a.cu; do
  name=$(basename "$candidate" .cu)
  "$nvcc" -std=c++17 --expt-relaxed-constexpr -gencode arch=compute_90a,code=sm_90a -I"$root/agent/knowledge/include" \
    -I"$root/agent/knowledge" -DCANDIDATE="\"$candidate\"" "$root/tests/gpu/host_check.cu" -o "$folder/$name" || failed=1
  [[ $only_build == yes ]] || timeout 60 "$folder/$name" || failed=1
done
exit $failed
