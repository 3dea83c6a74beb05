#include "monitor/program/look.h"

#include <iostream>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/proto_json.h"
#include "common/base/steady_time.h"
#include "common/terminal/text.h"
#include "monitor/actions/control_client.h"
#include "monitor/program/assemble.h"
#include "nlohmann/json.hpp"

namespace sassay::monitor {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(2500);
constexpr absl::Duration kTimeout = absl::Seconds(2);

using Latest = std::map<std::pair<std::string, std::string>, Sample>;

Latest LatestOf(const std::vector<Sample>& samples) {
  Latest latest;
  for (const Sample& sample : samples) latest[{sample.gpu, sample.signal}] = sample;
  return latest;
}

// "-" where nobody said.
std::string Cell(const Latest& latest, const std::string& gpu, const char* signal, const char* format) {
  const auto found = latest.find({gpu, signal});
  if (found == latest.end()) return "-";
  return absl::StrFormat(absl::ParsedFormat<'f'>(format), found->second.value);
}

double Value(const Latest& latest, const std::string& gpu, const char* signal) {
  const auto found = latest.find({gpu, signal});
  return found == latest.end() ? 0 : found->second.value;
}

std::string Text(const Latest& latest, const std::string& gpu, const char* signal) {
  const auto found = latest.find({gpu, signal});
  return found == latest.end() ? "" : PrintableLine(found->second.text);
}

std::vector<std::string> GpusOf(const Seen& seen) {
  std::map<std::string, bool> gpus;
  for (const Sample& sample : seen.samples) {
    if (!sample.gpu.empty()) gpus[sample.gpu] = true;
  }
  for (const v1::Gpu& gpu : seen.gpus) gpus[gpu.uuid()] = true;
  std::vector<std::string> names;
  for (const auto& [name, known] : gpus) names.push_back(name);
  return names;
}

std::string StateOf(const Seen& seen, const std::string& uuid) {
  for (const v1::Gpu& gpu : seen.gpus) {
    if (gpu.uuid() == uuid) return LowerCase(absl::string_view(EnumName(gpu.state())));
  }
  return "-";
}

std::vector<std::string> GpuRow(const Seen& seen, const Latest& latest, const std::string& gpu) {
  const auto reasons = static_cast<uint64_t>(Value(latest, gpu, "gpu.clock_reasons"));
  return {gpu,
          Text(latest, gpu, "gpu.model"),
          StateOf(seen, gpu),
          Cell(latest, gpu, "gpu.temperature_celsius", "%.0f C"),
          Cell(latest, gpu, "gpu.thermal_margin_celsius", "%.0f C"),
          Cell(latest, gpu, "gpu.sm_clock_mhz", "%.0f MHz"),
          Cell(latest, gpu, "gpu.power_watts", "%.0f W"),
          Cell(latest, gpu, "gpu.power_limit_watts", "%.0f W"),
          Cell(latest, gpu, "gpu.ecc_uncorrected_total", "%.0f"),
          Cell(latest, gpu, "gpu.foreign_processes", "%.0f"),
          ReasonNames(reasons)};
}

std::string SourceLine(const SourceView& source) {
  if (source.seen && source.last_error.empty()) return "ok";
  if (source.reading && source.silent > absl::ZeroDuration()) return "hangs";
  return source.last_error.empty() ? "said nothing" : PrintableLine(source.last_error);
}

Seen LookAround(const Options& options, const SecureChannel& channel) {
  const Shared shared;
  const std::filesystem::path folder = std::filesystem::path(options.state);
  Sampler sampler(MakeSources(channel, options.state, folder, shared));
  Seen seen;
  std::vector<Sample> all;
  const absl::Time end = SteadyNow() + kLook;
  while (SteadyNow() < end) {
    for (Sample& sample : sampler.Take(end - SteadyNow())) all.push_back(std::move(sample));
  }
  for (auto& [key, sample] : LatestOf(all)) seen.samples.push_back(std::move(sample));
  seen.sources = sampler.View();
  const ControlClient client(channel);
  v1::ListGpusResponse gpus;
  const absl::Status listed =
      client.Call(&ControlClient::Stub::ListGpus, "list the GPUs", kTimeout, v1::ListGpusRequest(), gpus);
  seen.gpus.assign(gpus.gpus().begin(), gpus.gpus().end());
  if (!listed.ok()) seen.service_error = std::string(listed.message());
  return seen;
}

}  // namespace

std::string ReasonNames(uint64_t reasons) {
  static constexpr std::pair<uint64_t, const char*> kNames[] = {
      {0x1, "idle"},        {0x2, "application clocks"},   {0x4, "SW power cap"},         {0x8, "HW slowdown"},
      {0x10, "sync boost"}, {0x20, "SW thermal slowdown"}, {0x40, "HW thermal slowdown"}, {0x80, "HW power brake"},
      {0x100, "display"}};
  std::vector<std::string> names;
  for (const auto& [bit, name] : kNames) {
    if ((reasons & bit) != 0) names.push_back(name);
    reasons &= ~bit;
  }
  if (reasons != 0) names.push_back(absl::StrFormat("0x%x", reasons));
  return names.empty() ? "-" : absl::StrJoin(names, ", ");
}

std::string LookText(const Seen& seen, const Style& style) {
  const Latest latest = LatestOf(seen.samples);
  std::vector<std::vector<std::string>> rows = {
      {"GPU", "MODEL", "STATE", "TEMP", "MARGIN", "SM CLOCK", "POWER", "LIMIT", "ECC", "FOREIGN", "CLOCKS HELD BY"}};
  for (const std::string& gpu : GpusOf(seen)) rows.push_back(GpuRow(seen, latest, gpu));
  std::string text = rows.size() > 1 ? Columns(rows, "") : style.Warn("no GPU was seen") + "\n";
  absl::StrAppend(&text, "\nhost     disk free ", Cell(latest, "", "host.disk_free_ratio", "%.2f"),
                  ", memory available ", Cell(latest, "", "host.memory_available_ratio", "%.2f"), ", load per CPU ",
                  Cell(latest, "", "host.load_per_cpu", "%.2f"), "\nservice  ",
                  seen.service_error.empty() ? style.Good("answers") : style.Warn(PrintableLine(seen.service_error)),
                  "\n");
  std::vector<std::vector<std::string>> sources;
  for (const SourceView& source : seen.sources) sources.push_back({"source", source.name, SourceLine(source)});
  absl::StrAppend(&text, Columns(sources, ""));
  return text;
}

std::string LookJson(const Seen& seen) {
  nlohmann::json document = {
      {"samples", nlohmann::json::array()}, {"sources", nlohmann::json::array()}, {"gpus", nlohmann::json::array()}};
  for (const Sample& sample : seen.samples) {
    nlohmann::json entry = {{"signal", sample.signal}, {"value", sample.value}};
    if (!sample.gpu.empty()) entry["gpu"] = sample.gpu;
    if (!sample.text.empty()) entry["text"] = Printable(sample.text);
    document["samples"].push_back(std::move(entry));
  }
  for (const SourceView& source : seen.sources) {
    document["sources"].push_back(
        {{"name", source.name}, {"state", SourceLine(source)}, {"readings", source.readings}});
  }
  for (const v1::Gpu& gpu : seen.gpus) document["gpus"].push_back(nlohmann::json::parse(ToJson(gpu, -1)));
  if (!seen.service_error.empty()) document["service_error"] = seen.service_error;
  return document.dump(2) + "\n";
}

int Look(const Options& options, std::ostream& out, bool color) {
  const absl::StatusOr<SecureChannel> channel = SecureChannel::Open(options.connection);
  if (!channel.ok()) {
    std::cerr << "reliability-monitor: " << channel.status().message() << "\n";
    return kExitUsage;
  }
  const Seen seen = LookAround(options, *channel);
  out << (options.json ? LookJson(seen) : LookText(seen, Style(color))) << std::flush;
  return kExitDone;
}

}  // namespace sassay::monitor
