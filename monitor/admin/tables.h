// The service's answers as tables. Pure; foreign text is made harmless.
#ifndef SASSAY_MONITOR_ADMIN_TABLES_H_
#define SASSAY_MONITOR_ADMIN_TABLES_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/terminal/style.h"
#include "sassay/v1/control.pb.h"

namespace sassay::monitor {

// "2026-11-30 07:15:02" in UTC; "-" for none.
std::string TimeText(const google::protobuf::Timestamp& time);
// "3 s", "12 min", "2 h 5 min" between two moments.
std::string AgeText(absl::Duration age);

std::string GpusText(const v1::ListGpusResponse& gpus, absl::Time now, const Style& style);
// One incident on one line, and what was done about it below.
std::string IncidentText(const v1::Incident& incident, const Style& style);
// Newest revision of each, oldest first.
std::vector<v1::Incident> NewestRevisions(const std::vector<v1::Incident>& incidents);
std::string TenantsText(const v1::GetUsageResponse& usage);
// GPU-seconds, with a sum over all tenants.
std::string UsageText(const v1::GetUsageResponse& usage);
std::string AuditText(const v1::ListAuditResponse& audit);
std::string CanaryText(const v1::RunCanaryResponse& canary);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_ADMIN_TABLES_H_
