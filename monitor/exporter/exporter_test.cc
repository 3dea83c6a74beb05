#include "monitor/exporter/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <set>
#include <string>
#include <vector>

#include "common/metrics/metric.h"

namespace sassay::monitor {
namespace {

using testing::HasSubstr;
using testing::Not;

const char kLabels[] = "{Hostname=\"node1\",UUID=\"GPU-1\",device=\"nvidia3\",gpu=\"3\",modelName=\"NVIDIA H200\"";

class ExporterTest : public testing::Test {
 protected:
  ExporterTest() {
    board_.Name({{"GPU-1", "3", "nvidia3", "NVIDIA H200"}});
    board_.Show({Subject("GPU-1")});
  }

  static SubjectView Subject(const std::string& gpu) {
    SubjectView subject;
    subject.gpu = gpu;
    return subject;
  }

  static sassay::v1::Incident Incident(const std::string& id) {
    sassay::v1::Incident incident;
    incident.set_id(id);
    incident.set_rule("hot");
    incident.set_severity(sassay::v1::SEVERITY_WARNING);
    return incident;
  }

  void See(const std::string& signal, double value) { board_.Saw({{now_, "GPU-1", signal, value}}); }

  std::string Text() {
    return metrics::ToText({metrics::CollectWith([this](metrics::Families& families) {
      AddMonitorMetrics(board_.snapshot(), "node1", {now_, wall_}, families);
    })});
  }

  std::string Line(const std::string& name, const std::string& more, const std::string& value) {
    return name + kLabels + more + "} " + value + "\n";
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  absl::Time wall_ = absl::FromUnixSeconds(5000);
  Board board_{[this] { return now_; }};
};

TEST_F(ExporterTest, ReadingsHaveBaseUnitsAndDcgmsLabels) {
  See("gpu.temperature_celsius", 45);
  See("gpu.sm_clock_mhz", 1980);
  See("gpu.ecc_uncorrected_total", 2);
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr(Line("sassay_gpu_temperature_celsius", "", "45")));
  EXPECT_THAT(text, HasSubstr(Line("sassay_gpu_sm_clock_hertz", "", "1980000000")));
  EXPECT_THAT(text, HasSubstr("sassay_gpu_ecc_errors_total{Hostname=\"node1\",UUID=\"GPU-1\",device=\"nvidia3\","
                              "gpu=\"3\",kind=\"uncorrected\",modelName=\"NVIDIA H200\"} 2\n"));
}

TEST_F(ExporterTest, WhatAHangingDriverSaidLastIsNotShownAsTrue) {
  See("gpu.temperature_celsius", 45);
  See("canary.tensor_ns", 20e6);
  now_ += absl::Seconds(11);
  const std::string text = Text();
  EXPECT_THAT(text, Not(HasSubstr("sassay_gpu_temperature_celsius")));
  EXPECT_THAT(text, HasSubstr("sassay_canary_seconds"));  // that of the last canary, which has its age beside it
  EXPECT_THAT(text, HasSubstr("sassay_monitor_decision_age_seconds 11\n"));
}

TEST_F(ExporterTest, EachReasonForTheClockIsASeries) {
  See("gpu.clock_reasons", 0x24);
  const std::string text = Text();
  for (const auto& [reason, value] : std::vector<std::pair<std::string, std::string>>{
           {"sw_power_cap", "1"}, {"sw_thermal", "1"}, {"hw_thermal", "0"}, {"idle", "0"}}) {
    EXPECT_THAT(text, HasSubstr(",reason=\"" + reason + "\"} " + value + "\n"));
  }
}

TEST_F(ExporterTest, XidsAreCountedByCodeAndStayBounded) {
  for (const double code : {31.0, 31.0, 79.0, 4711.0, 4712.0}) See("gpu.xid", code);
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("xid=\"31\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("xid=\"79\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("xid=\"other\"} 2\n"));
}

TEST_F(ExporterTest, AnIncidentIsCountedOnceAndOpenWhileItLasts) {
  SubjectView subject = Subject("GPU-1");
  subject.state = sassay::v1::GPU_STATE_COOLING;
  subject.open = {Incident("i1")};
  board_.Show({subject});
  board_.Show({subject});
  board_.Record(Incident("i1"));
  board_.Record(Incident("over before anybody saw it"));
  std::string text = Text();
  EXPECT_THAT(text, HasSubstr("sassay_incidents_total{rule=\"hot\",severity=\"warning\"} 2\n"));
  EXPECT_THAT(
      text,
      HasSubstr("sassay_incidents_open{Hostname=\"node1\",UUID=\"GPU-1\",rule=\"hot\",severity=\"warning\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(Line("sassay_gpu_state", "", "3")));
  board_.Show({Subject("GPU-1")});
  EXPECT_THAT(Text(), Not(HasSubstr("sassay_incidents_open")));
}

TEST_F(ExporterTest, UnknownIsAbsent) {
  const std::string text = Text();
  for (const char* name : {"sassay_gpu_healthy_through_lag_seconds", "sassay_canary_ratio", "sassay_canary_age_seconds",
                           "sassay_gpu_power_watts", "sassay_host_load_per_cpu"}) {
    EXPECT_THAT(text, Not(HasSubstr(name)));
  }
}

// What is in the table is exported, and under no other name.
TEST_F(ExporterTest, EveryRowOfTheTableIsExported) {
  SubjectView subject = Subject("GPU-1");
  subject.healthy_through = subject.last_canary = wall_ - absl::Seconds(1);
  subject.canary_tensor_ratio = subject.canary_memory_ratio = 1.01;
  subject.open = {Incident("i1")};
  board_.Show({subject});
  for (const char* signal :
       {"gpu.lost", "gpu.temperature_celsius", "gpu.thermal_margin_celsius", "gpu.sm_clock_mhz", "gpu.memory_clock_mhz",
        "gpu.power_watts", "gpu.power_limit_watts", "gpu.utilization_ratio", "gpu.thermal_slowdown_seconds_total",
        "gpu.ecc_corrected_total", "gpu.row_remap_pending", "gpu.pcie_replay_total", "gpu.foreign_processes", "gpu.xid",
        "gpu.clock_reasons", "canary.tensor_ns", "canary.failed"}) {
    See(signal, 1);
  }
  for (const char* signal : {"host.disk_free_ratio", "host.memory_available_ratio", "host.load_per_cpu"}) {
    board_.Saw({{now_, "", signal, 0.5}});
  }
  board_.Acted("RUN_CANARY", true);
  board_.ShowSource("nvml", {absl::ZeroDuration(), 10, 1});
  metrics::Families families;
  AddMonitorMetrics(board_.snapshot(), "node1", {now_, wall_}, families);
  std::set<std::string> exported, listed;
  for (const auto& family : families.Take()) exported.insert(family.name);
  for (const metrics::Metric* row : metrics::MonitorMetrics()) listed.insert(std::string(row->name));
  EXPECT_EQ(exported, listed);
}

TEST_F(ExporterTest, AnswersOnAPortOfItsOwn) {
  const auto endpoint = Export(board_, "node1", "127.0.0.1:0");
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_THAT((*endpoint)->address(), testing::MatchesRegex("127.0.0.1:[1-9][0-9]*"));
}

}  // namespace
}  // namespace sassay::monitor
