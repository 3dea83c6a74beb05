// References: what the outputs should be, and how far honest arithmetic may stray from that.
//
// A reference computes in fp64 from the very bytes the candidate reads. Beside each exact value it gives one standard
// deviation of `noise`: errors that any real kernel makes before its final rounding (compare.h adds the rounding
// itself). Deriving the noise per element keeps the rule as strict as the operator allows, for any shape and any
// distribution.
//
// Constants: rounding a number to bf16 makes a relative error of rms kBf16Rms = 2^-7 / sqrt(12) * sqrt(E[1/x^2]) with x
// log-uniform in [1, 2), E[1/x^2] = 3 / (8 ln 2): 0.00166. An f32 dot product of x and y (tensor cores included, which
// truncate) errs by about kF32 * |x| |y|, kF32 = 2^-22, at the lengths of a head dimension; long sums grow as sqrt(K).
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_REFERENCE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_REFERENCE_H_

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_service/judge/numerics/compare.h"
#include "profiler_service/judge/parallel.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

inline const double kBf16Rms = std::ldexp(1.0, -7) / std::sqrt(12.0) * std::sqrt(3.0 / (8 * std::log(2.0)));
inline const double kF32 = std::ldexp(1.0, -22);

// One operator's reference. Immutable; thread-safe. References that compute on a GPU come beside these.
class Reference {
 public:
  virtual ~Reference() = default;

  // Multiply-adds that Compute makes: what the cost guard divides by the machine's speed.
  virtual double MultiplyAdds() const = 0;

  // Makes dependent inputs agree with the others (attention backward: O and L follow from Q, K, V). One string of bytes
  // per input of the workload, in order.
  virtual absl::Status Complete(std::vector<std::string>& inputs, const Effort& effort) const {
    return absl::OkStatus();
  }

  // One Expected per output of the workload, in order. INVALID_ARGUMENT if the inputs are not what the workload says.
  virtual absl::StatusOr<std::vector<Expected>> Compute(const std::vector<std::string>& inputs,
                                                        const Effort& effort) const = 0;
};

// The reference that the workload names. INVALID_ARGUMENT if its shapes do not fit the operator, with what was
// expected; NOT_FOUND if there is no such reference (the message lists those that exist).
absl::StatusOr<std::unique_ptr<Reference>> MakeReference(const sassay::v1::Workload& workload);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_REFERENCE_H_
