// expect: CORRECT OK workload=mha_with_lse_d128/B=1,H=2,S=256
// at least 0.55 of the library's speed: mha_with_lse_d128/B=4,H=48,S=4096
//
// O and its log-sum-exp of attention, for head size 128 and any B, H and S. Workload:
// mha_with_lse_d128/B=4,H=48,S=4096.
//
//   mini-ptx-agent submit agent/examples/hopper/attention_forward.cu --workload mha_with_lse_d128
constexpr bool kCausal = false;
#include "attention_forward.cuh"
