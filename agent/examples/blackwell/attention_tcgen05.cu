// expect: CORRECT OK workload=mha_with_lse_d128/B=1,H=2,S=256 arch=sm_100a match="not been checked"
//
// O and its log-sum-exp of attention, for head size 128 and any B, H and S, through tensor memory.
// Workload: mha_with_lse_d128/B=1,H=2,S=256.
//
//   profiler-service --device emulated:sm_100a …
//   mini-ptx-agent submit agent/examples/blackwell/attention_tcgen05.cu --arch sm_100a
//       --workload mha_with_lse_d128/B=1,H=2,S=256
constexpr bool kCausal = false;
#include "attention_tcgen05.cuh"
