#include "profiler_service/diagnose/hotspots.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/bundle/source_lines.h"
#include "common/demangle/demangle.h"

namespace sassay::diagnose {
namespace {

using evidence::HotInstruction;

constexpr size_t kSummaryLines = 8;

v1::HotInstruction Message(const HotInstruction& hot, const v1::Bundle& bundle) {
  v1::ThreadLocation location;
  SetSourceLine(hot.source_file, hot.source_line, bundle, location);
  v1::HotInstruction message;
  message.set_kernel(hot.kernel);
  message.set_pc(hot.pc_offset_bytes);
  message.set_sass(hot.text);
  message.set_warp_count(hot.warp_count);
  message.set_thread_count(hot.thread_count);
  message.set_source_line(location.source_line());
  message.set_source_text(location.source_text());
  return message;
}

// Which source lines the warps spent their instructions on, most first.
void Summarise(const std::vector<HotInstruction>& hot, v1::DiagnosisReport& report) {
  std::map<std::string, uint64_t> lines;
  uint64_t all = 0;
  for (const HotInstruction& instruction : hot) {
    all += instruction.warp_count;
    std::string line = ShortKernelName(instruction.kernel);
    if (!instruction.source_file.empty()) {
      absl::StrAppend(&line, " at ", instruction.source_file, ":", instruction.source_line);
    }
    lines[line] += instruction.warp_count;
  }
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (const auto& [line, count] : lines) sorted.emplace_back(count, line);
  std::sort(sorted.rbegin(), sorted.rend());
  for (size_t i = 0; i < std::min(kSummaryLines, sorted.size()); ++i) {
    report.add_summary(absl::StrFormat("%4.1f %% of the hottest warp instructions: %s",
                                       100.0 * static_cast<double>(sorted[i].first) / static_cast<double>(all),
                                       sorted[i].second));
  }
}

}  // namespace

Diagnosed Hotspots(const std::vector<HotInstruction>& hot, absl::string_view why_none, const v1::Bundle& bundle) {
  if (hot.empty()) return Unavailable(why_none);
  Diagnosed diagnosed;
  diagnosed.report.set_outcome(v1::DiagnosisReport::DONE);
  Summarise(hot, diagnosed.report);
  for (const HotInstruction& instruction : hot) {
    if (diagnosed.report.hot_size() == kMaxHot) break;
    *diagnosed.report.add_hot() = Message(instruction, bundle);
  }
  return diagnosed;
}

}  // namespace sassay::diagnose
