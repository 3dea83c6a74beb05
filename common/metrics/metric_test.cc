#include "common/metrics/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"

namespace sassay::metrics {
namespace {

std::vector<const Metric*> All() {
  std::vector<const Metric*> all;
  for (const auto rows :
       {ServiceMetrics(), FrontEndMetrics(), NodeMetrics(), BuilderMetrics(), MonitorMetrics(), ProcessMetrics()}) {
    for (const Metric* row : rows) {
      // A row may be exported by several programs.
      if (std::find(all.begin(), all.end(), row) == all.end()) all.push_back(row);
    }
  }
  return all;
}

TEST(MetricTable, TheDocumentIsMadeOfIt) {
  const absl::StatusOr<std::string> document =
      ReadFile(absl::StrCat(std::getenv("SASSAY_TEST_SOURCE"), "/docs/metrics.md"));
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(*document, RenderDocument()) << "run build/<preset>/bin/metrics_document > docs/metrics.md";
}

TEST(MetricTable, NamesAreUniqueAndFollowTheConventions) {
  std::set<absl::string_view> seen;
  for (const Metric* metric : All()) {
    EXPECT_TRUE(seen.insert(metric->name).second) << metric->name;
    EXPECT_TRUE(absl::StartsWith(metric->name, "sassay_") || absl::StartsWith(metric->name, "process_"))
        << metric->name;
    EXPECT_EQ(absl::EndsWith(metric->name, "_total"), metric->type == Type::kCounter) << metric->name;
    EXPECT_FALSE(metric->help.empty()) << metric->name;
    EXPECT_THAT(std::string(metric->help), testing::Not(testing::HasSubstr("|"))) << metric->name;
  }
}

TEST(MetricTable, UnitsAreBaseUnitsAndEndTheName) {
  const std::set<absl::string_view> base = {"", "seconds", "bytes", "celsius", "hertz", "watts", "ratio"};
  for (const Metric* metric : All()) {
    EXPECT_EQ(base.count(metric->unit), 1u) << metric->name << ": " << metric->unit;
    absl::string_view stem = metric->name;
    absl::ConsumeSuffix(&stem, "_total");
    EXPECT_TRUE(absl::EndsWith(stem, metric->unit)) << metric->name << " is in " << metric->unit;
  }
}

}  // namespace
}  // namespace sassay::metrics
