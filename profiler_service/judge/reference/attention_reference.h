// Attention, forward with LSE and backward, causal or not, over Q, K, V [B,H,S,D], scale 1/sqrt(D).
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_ATTENTION_REFERENCE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_ATTENTION_REFERENCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "profiler_service/judge/reference/reference.h"

namespace sassay::judge {

// Forward: inputs Q, K, V; outputs O and LSE [B,H,S] (natural logarithm of sum exp(scale q.k)).
//
// Noise, with P the softmax and u_i the relative error of P's row i (kBf16Rms from P in bf16, as flash kernels keep it
// for the second product, and kF32 * scale * |q_i| * max|k| from the scores):
//   O_id:  u_i * sqrt(sum_j P_ij^2 V_jd^2)        independent roundings of P, weighted by V
//   LSE_i: u_i * sqrt(sum_j P_ij^2)               a row sum taken over the rounded P is still honest
//          + kF32 * (scale |q_i| max|k| + max(1, |LSE_i|))
absl::StatusOr<std::unique_ptr<Reference>> MakeAttentionForwardReference(const sassay::v1::Workload& workload,
                                                                         bool causal);

// Backward: inputs Q, K, V, O, dO, L; outputs dQ, dK, dV. O and L are completed from Q, K, V (rounded to their types),
// and the reference uses them as the candidate finds them:
//   P = exp(scale QK^T - L)   dP = dO V^T   delta_i = sum_d O_id dO_id   dS = P * (dP - delta)
//   dV = P^T dO               dQ = scale dS K                            dK = scale dS^T Q
// Noise, with P and dS in bf16 for the outer products:
//   dV_jd: sqrt(sum_i (u_i P_ij)^2 dO_id^2)
//   dQ_id: scale * sqrt(sum_j e_ij^2 K_jd^2),  dK_jd: scale * sqrt(sum_i e_ij^2 Q_id^2)
//   e_ij^2 = (u_i dS_ij)^2 + (kF32 P_ij |dO_i| max(|V|, |O_i|))^2   the second term: dP - delta cancels in f32
absl::StatusOr<std::unique_ptr<Reference>> MakeAttentionBackwardReference(const sassay::v1::Workload& workload,
                                                                          bool causal);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_ATTENTION_REFERENCE_H_
