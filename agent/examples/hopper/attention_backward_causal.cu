// expect: CORRECT OK workload=mha_bwd_d128_causal/B=1,H=2,S=256
// at least 0.30 of the library's speed: mha_bwd_d128_causal/B=4,H=48,S=4096
//
// dQ, dK and dV of attention under a causal mask, for head size 128 and any B, H and S. Workload:
// mha_bwd_d128_causal/B=4,H=48,S=4096.
//
//   mini-ptx-agent submit agent/examples/hopper/attention_backward_causal.cu --workload mha_bwd_d128_causal
constexpr bool kCausal = true;
#include "attention_backward.cuh"
