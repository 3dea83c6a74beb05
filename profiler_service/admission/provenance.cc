#include "profiler_service/admission/provenance.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/steady_time.h"
#include "common/bundle/elf.h"
#include "common/sandbox/sandbox.h"

namespace sassay::admission {
namespace {

constexpr size_t kMaxShownOutput = 300;

constexpr int kAttempts = 2;
constexpr absl::Duration kStopInterval = absl::Milliseconds(50);
constexpr char kOutOfTime[] = "the run ended before ptxas did";

ProvenanceResult Claimed(std::string reason) { return {v1::PROVENANCE_CLAIMED, std::move(reason)}; }
ProvenanceResult Unavailable(std::string reason) { return {v1::PROVENANCE_UNAVAILABLE, std::move(reason)}; }

// The last line of what ptxas said, which is the error.
std::string LastLine(absl::string_view text) {
  text = absl::StripTrailingAsciiWhitespace(text);
  const size_t newline = text.rfind('\n');
  return std::string((newline == absl::string_view::npos ? text : text.substr(newline + 1)).substr(0, kMaxShownOutput));
}

// By the kernel that wants memory, or by somebody; ptxas and its input have no say in it. The sandbox reports it as a
// shell does.
bool WasKilled(const ExitReport& report) {
  if (report.kind == ExitReport::Kind::kSignaled) return report.signal_number == SIGKILL;
  return report.kind == ExitReport::Kind::kExited && report.exit_code == 128 + SIGKILL;
}

std::string FailureText(const ExitReport& report) {
  if (report.kind == ExitReport::Kind::kSignaled) return absl::StrCat("ptxas ended by signal ", report.signal_number);
  return absl::StrCat("ptxas refuses the PTX: ", LastLine(report.stderr_text));
}

}  // namespace

std::string FirstDifference(absl::string_view untrusted_cubin, absl::string_view expected) {
  const auto end = std::mismatch(untrusted_cubin.begin(), untrusted_cubin.end(), expected.begin(), expected.end());
  const size_t offset = end.first - untrusted_cubin.begin();
  if (const auto elf = Elf::Parse(untrusted_cubin); elf.ok()) {
    for (const ElfSection& section : elf->sections()) {
      if (section.bytes.empty()) continue;
      const size_t begin = section.bytes.data() - untrusted_cubin.data();
      if (offset >= begin && offset - begin < section.bytes.size()) return absl::StrCat("section ", section.name);
    }
  }
  return absl::StrCat("byte ", offset);
}

ProvenanceChecker::ProvenanceChecker(absl::StatusOr<Toolchain> toolchain, Options options) : options_(options) {
  if (!toolchain.ok()) {
    unavailable_ = std::string(toolchain.status().message());
    return;
  }
  version_ = toolchain->version;
  assemble_ = [toolchain = *std::move(toolchain), options](const v1::Compilation& compilation, absl::string_view ptx,
                                                           absl::Duration timeout, const StopAsked& stop) {
    return AssemblePtx(toolchain, compilation, ptx, timeout, options.unsandboxed ? &*options.unsandboxed : nullptr,
                       stop);
  };
}

ProvenanceChecker::ProvenanceChecker(Assemble assemble, std::string version, Options options)
    : options_(options), assemble_(std::move(assemble)), version_(std::move(version)) {}

ProvenanceResult ProvenanceChecker::Check(const AdmittedBundle& bundle, absl::Time deadline, const StopAsked& stop) {
  if (auto known = Recall(bundle.digest(), deadline, stop); known.has_value()) return *std::move(known);
  Answer answer = Compute(bundle.bundle(), deadline, stop);
  Finish(bundle.digest(), answer);
  return answer.result;
}

absl::optional<ProvenanceResult> ProvenanceChecker::Recall(const std::string& digest, absl::Time deadline,
                                                           const StopAsked& stop) {
  absl::MutexLock lock(&mutex_);
  // An entry that is not done belongs to a thread that is computing it.
  const auto settled = [&] {
    mutex_.AssertReaderHeld();
    const auto found = entries_.find(digest);
    return found == entries_.end() || found->second.done;
  };
  while (!mutex_.AwaitWithTimeout(absl::Condition(&settled), kStopInterval)) {
    if (SteadyNow() >= deadline || (stop && stop())) return Unavailable(kOutOfTime);
  }
  const auto found = entries_.find(digest);
  if (found == entries_.end()) {
    entries_[digest];
    return absl::nullopt;
  }
  recent_.splice(recent_.end(), recent_, found->second.recent);
  return found->second.result;
}

void ProvenanceChecker::Finish(const std::string& digest, const Answer& answer) {
  absl::MutexLock lock(&mutex_);
  if (!answer.final) {
    entries_.erase(digest);
    return;
  }
  Entry& entry = entries_[digest];
  entry.done = true;
  entry.result = answer.result;
  entry.recent = recent_.insert(recent_.end(), digest);
  if (recent_.size() > options_.remembered) {
    entries_.erase(recent_.front());
    recent_.pop_front();
  }
}

ProvenanceChecker::Answer ProvenanceChecker::Compute(const v1::Bundle& bundle, absl::Time deadline,
                                                     const StopAsked& stop) const {
  if (!assemble_) return {Claimed(absl::StrCat("this service has no ptxas: ", unavailable_)), false};
  if (bundle.compilation().toolkit_version() != version_) {
    return {Claimed(absl::StrCat("compiled with CUDA ", bundle.compilation().toolkit_version(), ", this service has ",
                                 version_, "; compile with that release to have it verified")),
            true};
  }
  Answer answer;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const absl::Duration timeout = std::min(options_.timeout, deadline - SteadyNow());
    if (timeout <= absl::ZeroDuration() || (stop && stop())) return {Unavailable(kOutOfTime), false};
    const auto assembly = assemble_(bundle.compilation(), bundle.ptx(), timeout, stop);
    if (absl::IsInvalidArgument(assembly.status())) return {Claimed(std::string(assembly.status().message())), true};
    answer = assembly.ok() ? Judge(bundle, *assembly, timeout)
                           : Answer{Unavailable(std::string(assembly.status().message())), false};
    if (answer.final) break;
  }
  return answer;
}

ProvenanceChecker::Answer ProvenanceChecker::Judge(const v1::Bundle& bundle, const Assembly& assembly,
                                                   absl::Duration timeout) const {
  if (assembly.report.kind == ExitReport::Kind::kTimedOut) {
    const bool whole = timeout == options_.timeout && assembly.report.wall >= timeout;
    if (!whole) return {Unavailable(kOutOfTime), false};
    return {Unavailable(absl::StrCat("ptxas did not end within ", absl::FormatDuration(timeout))), true};
  }
  if (assembly.report.Succeeded()) {
    if (assembly.cubin == bundle.cubin()) return {{v1::PROVENANCE_VERIFIED, ""}, true};
    return {Claimed(absl::StrCat("ptxas makes another cubin of the PTX (", assembly.cubin.size(), " bytes instead of ",
                                 bundle.cubin().size(), "; the first difference is in ",
                                 FirstDifference(bundle.cubin(), assembly.cubin), ")")),
            true};
  }
  if (const absl::Status failed = SandboxFailure(assembly.report); !failed.ok()) {
    return {Unavailable(std::string(failed.message())), false};
  }
  if (WasKilled(assembly.report)) return {Unavailable("ptxas was killed"), false};
  return {Claimed(FailureText(assembly.report)), true};
}

}  // namespace sassay::admission
