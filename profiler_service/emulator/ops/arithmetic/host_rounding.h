// Directed rounding of double precision by the host's own.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ARITHMETIC_HOST_ROUNDING_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ARITHMETIC_HOST_ROUNDING_H_

#include <cfenv>

#include "profiler_service/emulator/ops/arithmetic/numeric.h"

namespace sassay::emulator {

// While it lives, this thread's arithmetic rounds so. The compiler knows nothing of it: whatever must be rounded takes
// its operands from Held() and gives its result to it.
class HostRounding {
 public:
  explicit HostRounding(Rounding rounding) : before_(std::fegetround()) {
    std::fesetround(rounding == Rounding::kZero   ? FE_TOWARDZERO
                    : rounding == Rounding::kDown ? FE_DOWNWARD
                    : rounding == Rounding::kUp   ? FE_UPWARD
                                                  : FE_TONEAREST);
  }
  ~HostRounding() { std::fesetround(before_); }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  const int before_;
};

inline double Held(double value) {
  asm volatile("" : "+x"(value)::"memory");
  return value;
}

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ARITHMETIC_HOST_ROUNDING_H_
