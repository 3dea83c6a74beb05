// The few statistics that reports need.
#ifndef SASSAY_AGENT_REPORT_SCORES_STATISTICS_H_
#define SASSAY_AGENT_REPORT_SCORES_STATISTICS_H_

#include <cstdint>
#include <vector>

#include "sassay/v1/report.pb.h"

namespace sassay::agent {

// A rate's 95 % interval.
struct Interval {
  double low = 0;
  double high = 1;
};

// Wilson's score interval for `successes` of `trials` (E. B. Wilson, JASA 22, 1927), which keeps its promise for few
// trials and never leaves [0, 1]. All of [0, 1] for no trial.
Interval WilsonInterval(uint32_t successes, uint32_t trials);

// The q-quantile (0..1) of a sorted sample, linear between order statistics; 0 of an empty one.
double Quantile(const std::vector<double>& sorted, double q);

// Five numbers; all zero of an empty sample.
v1::Spread SpreadOf(std::vector<double> sample);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_SCORES_STATISTICS_H_
