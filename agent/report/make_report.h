// From turns to a report: one pure function.
#ifndef SASSAY_AGENT_REPORT_MAKE_REPORT_H_
#define SASSAY_AGENT_REPORT_MAKE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/report/turn_table.h"
#include "sassay/v1/report.pb.h"

namespace sassay::agent {

struct ReportOptions {
  // From ParseGroupBy.
  std::vector<std::string> group_by;
  // In rising order.
  std::vector<uint32_t> turn_limits = {1, 4, 8};
  // Turns judged by different rules may stand in one report.
  bool mix_rules = false;
};

// FAILED_PRECONDITION where different rules judged and that was not asked for; names them.
absl::StatusOr<v1::Report> MakeReport(const TurnTable& table, const ReportOptions& options);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_MAKE_REPORT_H_
