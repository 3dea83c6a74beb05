#include "profiler_service/emulator/explain.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/demangle/demangle.h"

namespace sassay::emulator {
namespace {

constexpr size_t kMaxGroups = 64;

std::string Triple(const sassay::v1::Dim3& dim) { return absl::StrCat("(", dim.x(), ",", dim.y(), ",", dim.z(), ")"); }

std::string Line(const sassay::v1::ThreadLocation& where) {
  if (!where.source_line().empty()) return where.source_line();
  return where.ptx_line() != 0 ? absl::StrCat("PTX line ", where.ptx_line()) : "";
}

}  // namespace

std::vector<sassay::v1::WarpState> GroupStandings(const std::vector<Standing>& standings, const Locator& locator,
                                                  const std::string& kernel, const sassay::v1::Dim3& grid,
                                                  const sassay::v1::Dim3& block) {
  std::map<std::pair<uint32_t, std::string>, std::pair<const Standing*, uint64_t>> groups;
  for (const Standing& standing : standings) {
    auto& [first, count] = groups[{standing.place.inst, standing.state}];
    const auto rank = [](const Standing& s) { return std::make_pair(s.place.block, s.warp); };
    if (first == nullptr || rank(standing) < rank(*first)) first = &standing;
    ++count;
  }
  std::vector<sassay::v1::WarpState> states;
  for (const auto& [key, group] : groups) {
    sassay::v1::WarpState& state = states.emplace_back();
    *state.mutable_where() = locator.Describe(kernel, grid, block, group.first->place);
    state.set_warp(group.first->warp);
    state.set_state(group.first->state);
    state.set_count(group.second);
  }
  std::stable_sort(states.begin(), states.end(), [](const auto& a, const auto& b) {
    const bool a_gone = a.state() == "exited", b_gone = b.state() == "exited";
    return std::make_tuple(a_gone, b.count()) < std::make_tuple(b_gone, a.count());
  });
  if (states.size() > kMaxGroups) states.resize(kMaxGroups);
  return states;
}

std::string DescribeStates(const std::vector<sassay::v1::WarpState>& states, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(most, states.size()); ++i) {
    const auto& state = states[i];
    const std::string line = Line(state.where());
    absl::StrAppend(&text, i == 0 ? "" : "; ", state.count(), state.count() == 1 ? " warp " : " warps ", state.state(),
                    line.empty() ? "" : absl::StrCat(" at ", line));
  }
  if (states.size() > most) absl::StrAppend(&text, "; …");
  return text;
}

std::string DescribeFinding(const sassay::v1::Finding& finding) {
  const auto& where = finding.where();
  const std::string line = Line(where);
  return absl::StrCat(finding.message(), " (", ShortKernelName(where.kernel()), line.empty() ? "" : " at ", line,
                      ", block ", Triple(where.block()), ", thread ", Triple(where.thread()), ")");
}

}  // namespace sassay::emulator
