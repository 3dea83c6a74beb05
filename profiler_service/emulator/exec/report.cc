#include "profiler_service/emulator/exec/report.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace sassay::emulator {
namespace {

sassay::v1::Dim3 Unlinear(uint64_t index, const sassay::v1::Dim3& extent) {
  sassay::v1::Dim3 at;
  const uint64_t x = std::max(extent.x(), 1u), y = std::max(extent.y(), 1u);
  at.set_x(static_cast<uint32_t>(index % x));
  at.set_y(static_cast<uint32_t>(index / x % y));
  at.set_z(static_cast<uint32_t>(index / x / y));
  return at;
}

std::string BaseName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string LineOf(const sassay::v1::ThreadLocation& where) {
  return where.source_line().empty() ? absl::StrCat("PTX line ", where.ptx_line()) : where.source_line();
}

}  // namespace

Locator::Locator(const Program& program, const sassay::v1::Bundle& bundle) : program_(program) {
  for (const auto& source : bundle.sources()) {
    sources_.push_back({source.path(), absl::StrSplit(source.content(), '\n')});
  }
}

const Locator::Source* Locator::Find(const std::string& file) const {
  for (const Source& source : sources_) {
    if (file == source.path || absl::EndsWith(file, "/" + source.path)) return &source;
  }
  return nullptr;
}

// The innermost place that lies in the candidate's own sources; else the outermost one.
uint32_t Locator::UserLocation(uint32_t location) const {
  const auto& locations = program_.module->locations;
  uint32_t outermost = location;
  for (int depth = 0; location != ptx::kNoIndex && depth < 64; ++depth) {
    const auto file = program_.module->files.find(locations[location].file);
    if (file != program_.module->files.end() && Find(file->second) != nullptr) return location;
    outermost = location;
    location = locations[location].inlined_at;
  }
  return outermost;
}

sassay::v1::ThreadLocation Locator::Describe(const std::string& kernel, const sassay::v1::Dim3& grid,
                                             const sassay::v1::Dim3& block, const Place& place) const {
  sassay::v1::ThreadLocation described;
  described.set_kernel(kernel);
  *described.mutable_block() = Unlinear(place.block, grid);
  *described.mutable_thread() = Unlinear(place.thread, block);
  if (place.inst >= program_.insts.size()) return described;
  const Inst& inst = *program_.insts[place.inst].second;
  described.set_ptx_line(inst.line);
  if (inst.line >= 1 && inst.line <= program_.module->lines.size()) {
    described.set_ptx_text(
        std::string(absl::StripAsciiWhitespace(program_.module->lines[inst.line - 1]).substr(0, 200)));
  }
  const uint32_t location = UserLocation(inst.location);
  if (location == ptx::kNoIndex) return described;
  const ptx::Location& at = program_.module->locations[location];
  const auto file = program_.module->files.find(at.file);
  if (file == program_.module->files.end()) return described;
  const Source* source = Find(file->second);
  described.set_source_line(absl::StrCat(source != nullptr ? source->path : BaseName(file->second), ":", at.line));
  if (source != nullptr && at.line >= 1 && at.line <= source->lines.size()) {
    described.set_source_text(std::string(absl::StripAsciiWhitespace(source->lines[at.line - 1]).substr(0, 300)));
  }
  return described;
}

bool Report::Wants(sassay::v1::VerdictCode code, uint32_t inst, uint64_t block) {
  absl::MutexLock lock(&mutex_);
  const auto key = std::make_pair(static_cast<int>(code), inst);
  auto entry = entries_.find(key);
  if (entry == entries_.end()) {
    if (entries_.size() >= kMaxKinds) return false;
    entry = entries_.emplace(key, Entry()).first;
    entry->second.sequence = sequence_++;
  }
  ++entry->second.count;
  if (block >= entry->second.block) return false;
  entry->second.block = block;
  return true;
}

void Report::Add(Misuse misuse) {
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find({static_cast<int>(misuse.code), misuse.where.inst});
  if (entry == entries_.end() || entry->second.block != misuse.where.block) return;
  entry->second.misuse = std::move(misuse);
}

bool Report::empty() const {
  absl::MutexLock lock(&mutex_);
  return entries_.empty();
}

std::vector<sassay::v1::Finding> Report::Findings(const Locator& locator, const std::string& kernel,
                                                  const sassay::v1::Dim3& grid, const sassay::v1::Dim3& block) const {
  absl::MutexLock lock(&mutex_);
  std::vector<const Entry*> ordered;
  for (const auto& [key, entry] : entries_) {
    if (entry.misuse.code != sassay::v1::VERDICT_CODE_UNSPECIFIED) ordered.push_back(&entry);
  }
  // Shared memory read before it was written is what a race looks like from the other side: the race is the cause.
  const bool races = std::any_of(ordered.begin(), ordered.end(), [](const Entry* entry) {
    return entry->misuse.code == sassay::v1::VERDICT_CODE_SHARED_RACE;
  });
  auto rank = [&](const Entry* entry) {
    const bool consequence = races && entry->misuse.code == sassay::v1::VERDICT_CODE_UNINITIALIZED_READ &&
                             entry->misuse.buffer == "shared memory";
    return std::make_tuple(consequence, entry->block, entry->sequence);
  };
  std::sort(ordered.begin(), ordered.end(), [&](const Entry* a, const Entry* b) { return rank(a) < rank(b); });
  if (ordered.size() > kMaxFindings) ordered.resize(kMaxFindings);
  std::vector<sassay::v1::Finding> findings;
  for (const Entry* entry : ordered) {
    const Misuse& misuse = entry->misuse;
    sassay::v1::Finding& finding = findings.emplace_back();
    finding.set_code(misuse.code);
    finding.set_message(misuse.message);
    *finding.mutable_where() = locator.Describe(kernel, grid, block, misuse.where);
    if (misuse.has_other) {
      *finding.mutable_other() = locator.Describe(kernel, grid, block, misuse.other);
      finding.set_message(absl::StrReplaceAll(misuse.message, {{kOtherPlace, LineOf(finding.other())}}));
    }
    finding.set_buffer(misuse.buffer);
    finding.set_distance_bytes(misuse.distance_bytes);
    finding.set_access_bytes(misuse.access_bytes);
    finding.set_count(entry->count);
  }
  return findings;
}

}  // namespace sassay::emulator
