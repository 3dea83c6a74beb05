#!/usr/bin/env bash
# The outputs of Hopper's examples on an H200 beside those on the emulator, for the same inputs.
#
#   tests/gpu/outputs_agree.sh make FOLDER [BUILD]   where nvcc is (BUILD: default build/dev): the program and a bundle of each candidate
#   FOLDER/outputs_agree.sh run                      on the GPU host; the program's shared libraries may lie in FOLDER/lib
#
# `run` prints one line for each output (`outputs_agree --help` says what it holds). Copies, integers, sums of whole numbers and every GEMM are held to
# what issue and documents promise: equal to the bit, or within one step of bf16; of attention, whose exponentials are approximations, the
# differences are shown. Exit status 1 if an output that is held is beyond that.
set -uo pipefail

# "SOURCE WORKLOAD NAME" of what is held to the bit, to one step, and shown.
exact="tests/gpu/outputs/copies.cu copy_r256_c512
tests/gpu/outputs/interleaved.cu copy_r256_c512
tests/gpu/outputs/gemm_s8.cu gemm_s8_m128_n256_k256
tests/data/workloads/row_argmax.cu row_argmax_m64_n128"
gemms="agent/examples/gemm_naive.cu gemm_n256_k256/M=64
agent/examples/gemm_tiled.cu gemm_n256_k256/M=64
agent/examples/gemm_mma_sync.cu gemm_n256_k256/M=64
agent/examples/gemm_wgmma_tma.cu gemm_n256_k256/M=256
agent/knowledge/text/example_sm_90a.cu gemm_n256_k256/M=256
agent/examples/hopper/gemm_warp_specialized.cu gemm_n7168_k5120/M=8"
shown="agent/examples/attention_forward_naive.cu mha_with_lse_b1_h2_d64/S=64
agent/examples/attention_backward_naive.cu mha_bwd_b1_h2_d64/S=64
agent/examples/hopper/attention_forward.cu mha_with_lse_d128/B=1,H=2,S=256
agent/examples/hopper/attention_forward_causal.cu mha_with_lse_d128_causal/B=1,H=2,S=256
agent/examples/hopper/attention_backward.cu mha_bwd_d128/B=1,H=2,S=256
agent/examples/hopper/attention_backward_causal.cu mha_bwd_d128_causal/B=1,H=2,S=256
agent/examples/gqa/gqa_paged_decode.cu gqa_paged_decode_h32_kv8_d128_ps1/batch_size=2,num_pages=8,len_indptr=3,num_kv_indices=6
agent/examples/gqa/gqa_paged_prefill.cu gqa_paged_prefill_causal_h32_kv8_d128_ps1/len_indptr=3,total_q=3,num_kv_indices=6,num_pages=8
agent/examples/gqa/gqa_ragged_prefill.cu gqa_ragged_prefill_causal_h32_kv8_d128/len_indptr=3,total_q=3,total_kv=6"

make_folder() {
  local folder=$1 build=${2:-build/dev} group source workload
  for group in exact gemms shown; do
    mkdir -p "$folder/$group"
    while read -r source workload; do
      "$build/bin/mini-ptx-agent" compile "$source" --workload "$workload" --definitions tests/gpu/outputs,tests/data/workloads \
        -o "$folder/$group/$(basename "$source" .cu).bundle" >/dev/null || exit 1
    done <<<"${!group}"
  done
  cp "$build/tests/outputs_agree" tests/gpu/outputs/*.json tests/data/workloads/*.json tests/data/workloads/*.safetensors "$0" "$folder/"
}

case ${1:-} in
  make) make_folder "${@:2}" ;;
  run)
    cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")" || exit 2
    export LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    status=0
    ./outputs_agree exact/*.bundle --definitions . --ulp 0 || status=1
    ./outputs_agree gemms/*.bundle --distribution integers --ulp 0 || status=1
    ./outputs_agree gemms/*.bundle --distribution normal,uniform,outliers || status=1
    ./outputs_agree shown/*.bundle --distribution normal
    exit $status
    ;;
  *) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
