#!/usr/bin/env bash
# Makes the seed corpora of the fuzz targets of common/bundle, common/workload and profiler_service/admission again. They are
# committed so that fuzzing starts behind the parsers' front doors; make them again after a change of a format or of the
# example bundle. Needs nvcc and a configured build folder:
#     profiler_service/admission/testing/make_fuzz_corpus.sh build/dev
set -eu
build=$(realpath "${1:?usage: make_fuzz_corpus.sh BUILD_FOLDER}")
root=$(realpath "$(dirname "$0")/../../..")
nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/tiny.cu" <<'CU'
__constant__ float c[4];
extern "C" __global__ void k(float* p) { p[threadIdx.x] = c[threadIdx.x % 4]; }
CU
bundle=$root/common/bundle/fuzz_corpus
mkdir -p "$bundle"/{bundle,cubin,ptx} "$root"/common/workload/fuzz_corpus \
  "$root"/profiler_service/admission/fuzz_corpus/{plan,admission}
for arch in 80 90a 100a; do
  "$nvcc" -arch=compute_$arch -ptx -o "$work/$arch.ptx" "$work/tiny.cu"
  "$(dirname "$nvcc")/ptxas" -arch=sm_$arch -o "$bundle/cubin/sm_$arch" "$work/$arch.ptx"
done
cp "$work/90a.ptx" "$bundle/ptx/sm_90a"
printf '_ZN12_GLOBAL__N_19anonymousEPf6Packedb' > "$bundle/ptx/symbol"
names=$root/common/workload/fuzz_corpus
printf '\0gemm_n256_k256/M=256' > "$names/name"
printf '\0mha_bwd_d128_causal/B=1,H=2,S=256' > "$names/three_axes"
for definition in gemm_n256_k256 mha_bwd_d128_causal; do
  { printf '\1'; cat "$root/common/workload/definitions/$definition.json"; } > "$names/$definition"
done
printf '\1%s' '{"name":"t","axes":{"N":{"type":"var"}},"inputs":{"i":{"shape":["N",3],"dtype":"int32"},"s":{"shape":null,"dtype":"float32"}},"outputs":{"y":{"shape":["N"],"dtype":"int64"}},"sassay":{"reference":"golden:t.safetensors","tolerance":{"y":{"rms_multiple":2,"element_multiple":8,"noise_of_rms":0.1}},"ranges":{"i":{"minimum":0,"maximum":"N-1"}},"sanitize_axes":{"N":4},"flop":"(2*N+1)/3-N"}}' > "$names/everything"

ninja -C "$build" write_fuzz_corpus
"$build/bin/write_fuzz_corpus" "$root" "$bundle/cubin/sm_90a" "$work/90a.ptx"
