#include "profiler_service/sanitize/report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <pugixml.hpp>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "common/bundle/source_lines.h"
#include "common/demangle/demangle.h"

namespace sassay::sanitize {
namespace {

using sassay::v1::Finding;
using sassay::v1::ThreadLocation;
using sassay::v1::VerdictCode;

// Where an access lies beside the buffer that is nearest to it.
struct Neighbour {
  const worker::Placement* placement = nullptr;
  int64_t distance_bytes = 0;
  bool inside = false;
};

uint64_t Unsigned(const pugi::xml_node& parent, const char* name) { return parent.child(name).text().as_ullong(); }

uint64_t Address(const pugi::xml_node& what) {
  absl::string_view text = what.child_value("address");
  uint64_t address = 0;
  absl::ConsumePrefix(&text, "0x");
  if (!absl::SimpleHexAtoi(text, &address)) return 0;
  return address;
}

void ReadExtent(const pugi::xml_node& node, v1::Dim3& extent) {
  extent.set_x(static_cast<uint32_t>(Unsigned(node, "x")));
  extent.set_y(static_cast<uint32_t>(Unsigned(node, "y")));
  extent.set_z(static_cast<uint32_t>(Unsigned(node, "z")));
}

// What kernels are called in a report: by symbol or by bare name, which the bundle both knows. A report names functions
// thousands of times (every frame of every record), and demangling is dear: each kernel is demangled once.
class KernelNames {
 public:
  explicit KernelNames(const v1::Bundle& bundle) : bundle_(bundle) {}

  // The kernel's symbol; `function` itself if it is no kernel.
  const std::string& SymbolOf(const std::string& function) {
    if (known_.empty()) Learn();
    return known_.emplace(function, function).first->second;
  }

  const v1::Bundle& bundle() const { return bundle_; }

 private:
  void Learn() {
    for (const auto& kernel : bundle_.kernels()) known_.emplace(kernel.symbol(), kernel.symbol());
    for (const auto& kernel : bundle_.kernels()) LearnBareNames(kernel.symbol());
  }

  // "gemm<128>" and "gemm" of "void gemm<128>(int*)".
  void LearnBareNames(const std::string& symbol) {
    std::string name = Demangle(symbol);
    if (absl::StartsWith(name, "void ")) name.erase(0, sizeof("void ") - 1);
    known_.emplace(name.substr(0, name.rfind('(')), symbol);
    known_.emplace(name.substr(0, name.find_first_of("(<")), symbol);
  }

  const v1::Bundle& bundle_;
  std::map<std::string, std::string> known_;
};

void ReadWho(const pugi::xml_node& who, ThreadLocation& location) {
  if (!who) return;
  ReadExtent(who.child("threadIdx"), *location.mutable_thread());
  ReadExtent(who.child("blockIdx"), *location.mutable_block());
}

void ReadLine(const pugi::xml_node& where, const v1::Bundle& bundle, ThreadLocation& location) {
  SetSourceLine(where.child_value("path"), Unsigned(where, "line"), bundle, location);
}

void ReadWhere(const pugi::xml_node& where, KernelNames& names, ThreadLocation& location) {
  location.set_kernel(names.SymbolOf(where.child_value("func")));
  ReadLine(where, names.bundle(), location);
}

// Who did it and where. In an inlined function or a header of the toolkit the outermost frame is the kernel, and the
// innermost line that the candidate wrote is the one to look at.
void ReadLocation(const pugi::xml_node& record, KernelNames& names, ThreadLocation& location) {
  ReadWho(record.child("who"), location);
  const pugi::xml_node where = record.child("where");
  ReadWhere(where, names, location);
  bool known = FindSource(where.child_value("path"), names.bundle()) != nullptr;
  for (const pugi::xml_node& frame : record.child("deviceStack").children("frame")) {
    location.set_kernel(names.SymbolOf(frame.child_value("func")));
    if (known || FindSource(frame.child_value("path"), names.bundle()) == nullptr) continue;
    ReadLine(frame, names.bundle(), location);
    known = true;
  }
}

Neighbour Nearest(uint64_t address, uint64_t size, absl::Span<const worker::Placement> placements) {
  Neighbour nearest;
  uint64_t best = std::numeric_limits<uint64_t>::max();
  for (const worker::Placement& placement : placements) {
    const uint64_t begin = placement.address();
    const uint64_t end = begin + placement.size_bytes();
    Neighbour candidate{&placement, 0, false};
    uint64_t away = 0;
    if (address < begin) {
      away = begin - address;
      candidate.distance_bytes = -static_cast<int64_t>(away);
    } else if (address >= end) {
      away = address - end;
      candidate.distance_bytes = static_cast<int64_t>(away);
    } else {
      candidate.inside = address + size <= end;
    }
    if (away >= best) continue;
    best = away;
    nearest = candidate;
  }
  return nearest;
}

VerdictCode OutOfBoundsCode(absl::string_view space, bool reads) {
  if (space == "__shared__") return v1::VERDICT_CODE_OOB_SHARED;
  if (space == "__local__") return v1::VERDICT_CODE_OOB_LOCAL;
  if (space == "__constant__") return v1::VERDICT_CODE_OOB_CONST;
  return reads ? v1::VERDICT_CODE_OOB_GLOBAL_READ : v1::VERDICT_CODE_OOB_GLOBAL_WRITE;
}

VerdictCode AccessCode(const pugi::xml_node& what) {
  const absl::string_view error = what.child_value("error");
  if (absl::StrContains(error, "misaligned")) return v1::VERDICT_CODE_MISALIGNED;
  if (absl::StrContains(error, "free")) return v1::VERDICT_CODE_USE_AFTER_FREE;
  if (absl::StrContains(error, "uninit")) return v1::VERDICT_CODE_UNINITIALIZED_READ;
  return OutOfBoundsCode(what.child_value("space"), absl::string_view(what.child_value("direction")) == "read");
}

VerdictCode ExceptionCode(absl::string_view exception) {
  if (absl::StrContains(exception, "trap")) return v1::VERDICT_CODE_TRAP;
  if (absl::StrContains(exception, "ssert")) return v1::VERDICT_CODE_ASSERT;
  if (absl::StrContains(exception, "nstruction")) return v1::VERDICT_CODE_ILLEGAL_INSTRUCTION;
  if (absl::StrContains(exception, "isaligned")) return v1::VERDICT_CODE_MISALIGNED;
  if (absl::StrContains(exception, "ddress")) return v1::VERDICT_CODE_ILLEGAL_ADDRESS;
  return v1::VERDICT_CODE_LAUNCH_FAILED;
}

std::string Text(const v1::Dim3& extent) {
  return absl::StrCat("(", extent.x(), ",", extent.y(), ",", extent.z(), ")");
}

std::string By(const ThreadLocation& where) {
  const std::string line = where.source_line().empty() ? "" : absl::StrCat(" at ", where.source_line());
  return absl::StrCat("by thread ", Text(where.thread()), " of block ", Text(where.block()), " in ",
                      ShortKernelName(where.kernel()), line);
}

std::string Beside(const Neighbour& neighbour) {
  if (neighbour.placement == nullptr) return "outside every buffer";
  const std::string buffer =
      absl::StrCat(neighbour.placement->buffer(), " (", neighbour.placement->size_bytes(), " bytes)");
  if (neighbour.inside) return absl::StrCat("inside ", buffer);
  if (neighbour.distance_bytes < 0) return absl::StrCat(-neighbour.distance_bytes, " bytes before ", buffer);
  return absl::StrCat(neighbour.distance_bytes, " bytes past the end of ", buffer);
}

Finding AccessFinding(const pugi::xml_node& record, absl::Span<const worker::Placement> placements,
                      KernelNames& names) {
  const pugi::xml_node what = record.child("what");
  Finding finding;
  finding.set_code(AccessCode(what));
  finding.set_access_bytes(static_cast<uint32_t>(Unsigned(what, "size")));
  ReadLocation(record, names, *finding.mutable_where());
  const absl::string_view space = what.child_value("space");
  std::string place;
  if (space == "__global__" || space.empty()) {
    const Neighbour neighbour = Nearest(Address(what), finding.access_bytes(), placements);
    if (neighbour.placement != nullptr) finding.set_buffer(neighbour.placement->buffer());
    finding.set_distance_bytes(neighbour.distance_bytes);
    place = absl::StrCat(" ", Beside(neighbour));
  } else {
    finding.set_buffer(std::string(absl::StripSuffix(absl::StripPrefix(space, "__"), "__")));
  }
  finding.set_message(absl::StrCat(space, " ", what.child_value("direction"), " of ", finding.access_bytes(),
                                   " bytes is ", what.child_value("error"), place, ", ", By(finding.where())));
  return finding;
}

Finding ExceptionFinding(const pugi::xml_node& record, KernelNames& names) {
  const absl::string_view exception = record.child("what").child_value("exception");
  Finding finding;
  finding.set_code(ExceptionCode(exception));
  ReadLocation(record, names, *finding.mutable_where());
  finding.set_message(absl::StrCat(exception, " ", By(finding.where())));
  return finding;
}

// The two sides of a race: `first` and `second` are the words for what they did.
Finding RaceFinding(const pugi::xml_node& first, const pugi::xml_node& second, const char* access, KernelNames& names) {
  Finding finding;
  finding.set_code(v1::VERDICT_CODE_SHARED_RACE);
  finding.set_buffer("shared");
  ReadWhere(first.child("where"), names, *finding.mutable_where());
  ReadWhere(second.child("where"), names, *finding.mutable_other());
  finding.set_message(absl::StrCat(first.child_value(access), " at ", finding.where().source_line(), " and ",
                                   second.child_value(access), " at ", finding.other().source_line(),
                                   " of the same shared memory without a barrier"));
  return finding;
}

// "--racecheck-report analysis": one record for all hazards between two lines.
Finding AnalysisFinding(const pugi::xml_node& record, KernelNames& names) {
  const pugi::xml_node what = record.child("what");
  Finding finding = RaceFinding(what.child("source"), what.child("destination"), "direction", names);
  finding.set_count(Unsigned(what.child("destination"), "count"));
  absl::StrAppend(finding.mutable_message(), ", in ", ShortKernelName(finding.where().kernel()));
  if (absl::string_view(record.child_value("level")) != "Error") {
    absl::StrAppend(finding.mutable_message(), " (", record.child_value("level"), ")");
  }
  return finding;
}

// "--racecheck-report hazard": one record for two threads and a byte.
Finding HazardFinding(const pugi::xml_node& record, KernelNames& names) {
  const pugi::xml_node what = record.child("what");
  Finding finding = RaceFinding(what.child("thread0"), what.child("thread1"), "access", names);
  for (auto [side, thread] :
       {std::make_pair(finding.mutable_where(), "thread0"), {finding.mutable_other(), "thread1"}}) {
    ReadExtent(what.child("common").child("blockIdx"), *side->mutable_block());
    ReadExtent(what.child(thread).child("threadIdx"), *side->mutable_thread());
  }
  absl::StrAppend(finding.mutable_message(), ", ", By(finding.where()));
  return finding;
}

Finding BarrierFinding(const pugi::xml_node& record, KernelNames& names) {
  const absl::string_view type = record.child("what").child_value("type");
  Finding finding;
  finding.set_code(absl::StrContains(type, "ivergent") ? v1::VERDICT_CODE_BARRIER_DIVERGENCE
                                                       : v1::VERDICT_CODE_BARRIER_MISUSE);
  ReadLocation(record, names, *finding.mutable_where());
  finding.set_message(absl::StrCat(record.child("what").child_value("text"), ": ", type, ", ", By(finding.where())));
  return finding;
}

Finding UninitialisedFinding(const pugi::xml_node& record, absl::Span<const worker::Placement> placements,
                             KernelNames& names) {
  const pugi::xml_node what = record.child("what");
  Finding finding;
  finding.set_code(v1::VERDICT_CODE_UNINITIALIZED_READ);
  finding.set_access_bytes(static_cast<uint32_t>(Unsigned(what, "size")));
  ReadLocation(record, names, *finding.mutable_where());
  const Neighbour neighbour = Nearest(Address(what), finding.access_bytes(), placements);
  std::string place;
  if (neighbour.placement != nullptr && neighbour.inside) {
    finding.set_buffer(neighbour.placement->buffer());
    place = absl::StrCat(" at byte ", Address(what) - neighbour.placement->address(), " of ", finding.buffer());
  }
  finding.set_message(absl::StrCat("read of ", finding.access_bytes(), " bytes", place, " that nobody has written, ",
                                   By(finding.where())));
  return finding;
}

bool SameCause(const Finding& a, const Finding& b) {
  return a.code() == b.code() && a.buffer() == b.buffer() && a.where().kernel() == b.where().kernel() &&
         a.where().source_line() == b.where().source_line() && a.other().source_line() == b.other().source_line();
}

// ---- what the tool prints, as the record that it would have saved ----

// "(1022,0,0)".
void AppendExtent(absl::string_view text, const char* name, pugi::xml_node who) {
  absl::ConsumePrefix(&text, "(");
  const std::vector<std::string> parts = absl::StrSplit(text.substr(0, text.find(')')), ',');
  pugi::xml_node extent = who.append_child(name);
  for (size_t i = 0; i < 3 && i < parts.size(); ++i) {
    extent.append_child(i == 0 ? "x" : i == 1 ? "y" : "z").text().set(parts[i].c_str());
  }
}

void SetText(pugi::xml_node parent, const char* name, absl::string_view text) {
  parent.append_child(name).text().set(std::string(text).c_str());
}

absl::string_view Between(absl::string_view line, absl::string_view begin, absl::string_view end) {
  const size_t from = line.find(begin);
  if (from == line.npos) return "";
  line.remove_prefix(from + begin.size());
  return end.empty() ? line : line.substr(0, line.find(end));
}

// "Invalid __global__ write of size 4 bytes".
void AppendAccess(absl::string_view line, pugi::xml_node record) {
  pugi::xml_node what = record.append_child("what");
  SetText(what, "space", Between(line, "Invalid ", " "));
  SetText(what, "direction", Between(line, "__ ", " of size"));
  SetText(what, "size", Between(line, "of size ", " "));
}

// The lines behind it: "at _Z5floodPi+0x140 in x.cu:9", "by thread (1,0,0) in block (8,0,0)", "Access to 0x7f805e802000
// is out of bounds".
void AppendDetail(absl::string_view line, pugi::xml_node record) {
  if (absl::ConsumePrefix(&line, "at ")) {
    const absl::string_view place = Between(line, " in ", "");
    const size_t colon = place.rfind(':');
    pugi::xml_node where = record.append_child("where");
    SetText(where, "func", line.substr(0, line.find("+0x")));
    if (colon == place.npos) return;
    SetText(where, "path", place.substr(0, colon));
    SetText(where, "line", place.substr(colon + 1));
  } else if (absl::StartsWith(line, "by thread ")) {
    pugi::xml_node who = record.append_child("who");
    AppendExtent(Between(line, "thread ", " "), "threadIdx", who);
    AppendExtent(Between(line, "block ", ""), "blockIdx", who);
  } else if (absl::StartsWith(line, "Access to ")) {
    SetText(record.child("what"), "address", Between(line, "to ", " "));
    SetText(record.child("what"), "error", Between(line, " is ", ""));
  }
}

void Add(std::vector<Finding>& findings, Finding finding) {
  finding.set_count(std::max<uint64_t>(finding.count(), 1));
  for (Finding& known : findings) {
    if (!SameCause(known, finding)) continue;
    known.set_count(known.count() + finding.count());
    return;
  }
  if (findings.size() < kMaxFindings) findings.push_back(std::move(finding));
}

}  // namespace

absl::StatusOr<Report> ParseReport(absl::string_view xml, Tool tool, absl::Span<const worker::Placement> placements,
                                   const v1::Bundle& bundle) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size(), pugi::parse_default);
  const pugi::xml_node root = document.child("ComputeSanitizerOutput");
  if (!parsed || !root) {
    return absl::DataLossError(
        absl::StrCat("expected a report of compute-sanitizer, got ", xml.size(),
                     " bytes of something else: ", parsed ? "no <ComputeSanitizerOutput>" : parsed.description()));
  }
  Report report;
  KernelNames names(bundle);
  for (const pugi::xml_node& record : root.children("record")) {
    const absl::string_view kind = record.child_value("kind");
    const pugi::xml_node what = record.child("what");
    if (kind == "Analysis") {
      Add(report.advisory, AnalysisFinding(record, names));
    } else if (kind == "Hazard") {
      Add(report.advisory, HazardFinding(record, names));
    } else if (kind == "Synccheck") {
      Add(report.advisory, BarrierFinding(record, names));
    } else if (kind == "Initcheck" && record.child("where")) {
      Add(report.advisory, UninitialisedFinding(record, placements, names));
    } else if (what.child("exception")) {
      Add(report.advisory, ExceptionFinding(record, names));
    } else if (what.child("space")) {
      const bool global = absl::string_view(what.child_value("space")) == "__global__";
      Add(global && tool == Tool::kMemcheck ? report.convicting : report.advisory,
          AccessFinding(record, placements, names));
    }
  }
  return report;
}

Report ParsePrinted(absl::string_view console, absl::Span<const worker::Placement> placements,
                    const v1::Bundle& bundle) {
  pugi::xml_document document;
  pugi::xml_node record;
  for (absl::string_view line : absl::StrSplit(console, '\n')) {
    if (!absl::ConsumePrefix(&line, "=========")) continue;
    line = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(line, "Invalid __global__ ")) {
      record = document.append_child("record");
      AppendAccess(line, record);
    } else if (line.empty()) {
      record = pugi::xml_node();
    } else if (record) {
      AppendDetail(line, record);
    }
  }
  Report report;
  KernelNames names(bundle);
  for (const pugi::xml_node& printed : document.children("record")) {
    // The last one may have been cut short.
    if (printed.child("what").child("error")) Add(report.convicting, AccessFinding(printed, placements, names));
  }
  return report;
}

absl::StatusOr<uint64_t> ParseSummary(absl::string_view console) {
  absl::optional<uint64_t> last;
  for (absl::string_view line : absl::StrSplit(console, '\n')) {
    absl::ConsumePrefix(&line, "========= ");
    if (!absl::ConsumePrefix(&line, "ERROR SUMMARY: ") && !absl::ConsumePrefix(&line, "RACECHECK SUMMARY: ")) continue;
    uint64_t errors = 0;
    if (absl::StrContains(line, " were not printed") || !absl::SimpleAtoi(line.substr(0, line.find(' ')), &errors))
      continue;
    last = errors;
  }
  if (last.has_value()) return *last;
  return absl::DataLossError("compute-sanitizer gave no summary: it did not run to its end");
}

}  // namespace sassay::sanitize
