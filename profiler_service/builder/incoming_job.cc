#include "profiler_service/builder/incoming_job.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sassay::builder {
namespace {

using sassay::v1::BuildSettings;
using sassay::v1::DefinedWorkload;

constexpr size_t kMaxPathBytes = 200;

absl::Status TooMuch(absl::string_view what, uint64_t most) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": at most ", most, " are taken"));
}

absl::Status CheckText(absl::string_view name, const std::string& text, uint64_t limit) {
  if (text.size() > limit) return TooMuch(absl::StrCat("bytes of settings.", name), limit);
  if (text.find('\0') == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("settings.", name, " holds a NUL"));
}

absl::Status CheckWorkloads(absl::string_view name, const JobLimits& limits,
                            const google::protobuf::RepeatedPtrField<DefinedWorkload>& workloads, uint64_t& bytes) {
  if (workloads.size() > limits.workloads) return TooMuch(absl::StrCat("settings.", name), limits.workloads);
  for (const DefinedWorkload& workload : workloads) {
    RETURN_IF_ERROR(CheckText(absl::StrCat(name, ".name"), workload.name(), limits.text_bytes));
    RETURN_IF_ERROR(
        CheckText(absl::StrCat(name, ".definition_json"), workload.definition_json(), limits.definition_bytes));
    if (!workload.definition_sha256().empty() && workload.definition_sha256().size() != 32) {
      return absl::InvalidArgumentError(absl::StrCat("settings.", name, ".definition_sha256: expected 32 bytes, got ",
                                                     workload.definition_sha256().size()));
    }
    bytes += workload.definition_json().size();
  }
  if (bytes > limits.definitions_bytes) return TooMuch("bytes of definitions", limits.definitions_bytes);
  return absl::OkStatus();
}

absl::Status CheckDeadline(const BuildSettings& settings, absl::Duration most) {
  if (!settings.has_compile_deadline()) return absl::OkStatus();
  const google::protobuf::Duration& asked = settings.compile_deadline();
  const absl::Duration deadline = absl::Seconds(asked.seconds()) + absl::Nanoseconds(asked.nanos());
  if (deadline > absl::ZeroDuration() && deadline <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--compile-deadline ", absl::FormatDuration(deadline),
                                                 ": this builder gives a build up to ", absl::FormatDuration(most),
                                                 " (its --build-deadline)"));
}

}  // namespace

absl::Status CheckSourcePath(absl::string_view untrusted) {
  const auto plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view("._-+/").find(c) != absl::string_view::npos;
  };
  const std::vector<absl::string_view> parts = absl::StrSplit(untrusted, '/');
  const bool inside = std::none_of(parts.begin(), parts.end(),
                                   [](absl::string_view part) { return part.empty() || part == "." || part == ".."; });
  if (!untrusted.empty() && untrusted.size() <= kMaxPathBytes && untrusted[0] != '-' && inside &&
      std::all_of(untrusted.begin(), untrusted.end(), plain)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("source path \"", absl::CHexEscape(untrusted.substr(0, kMaxPathBytes)),
                   "\": expected a relative path of the letters a-z and A-Z, digits and ._-+/, without \"..\""));
}

absl::Status IncomingJob::Add(sassay::v1::BuildRequest untrusted_part) {
  switch (untrusted_part.part_case()) {
    case sassay::v1::BuildRequest::kSettings:
      return AddSettings(std::move(*untrusted_part.mutable_settings()));
    case sassay::v1::BuildRequest::kSource:
      return AddPiece(untrusted_part.source());
    case sassay::v1::BuildRequest::PART_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a part is neither settings nor source: is the client newer than this builder?");
}

absl::Status IncomingJob::AddSettings(BuildSettings untrusted) {
  if (job_.has_settings()) return absl::InvalidArgumentError("settings came twice");
  for (const auto& [name, text] :
       {std::pair("arch", &untrusted.arch()), std::pair("abi", &untrusted.abi()),
        std::pair("profile", &untrusted.profile()), std::pair("device", &untrusted.device())}) {
    RETURN_IF_ERROR(CheckText(name, *text, limits_.text_bytes));
  }
  if (untrusted.defines_size() > limits_.defines) return TooMuch("settings.defines", limits_.defines);
  for (const std::string& define : untrusted.defines())
    RETURN_IF_ERROR(CheckText("defines", define, limits_.text_bytes));
  uint64_t definitions = 0;
  RETURN_IF_ERROR(CheckWorkloads("workloads", limits_, untrusted.workloads(), definitions));
  RETURN_IF_ERROR(CheckWorkloads("welcome", limits_, untrusted.welcome(), definitions));
  if (untrusted.workloads().empty()) return absl::InvalidArgumentError("settings.workloads is empty");
  RETURN_IF_ERROR(CheckDeadline(untrusted, limits_.compile_deadline));
  *job_.mutable_settings() = std::move(untrusted);
  return absl::OkStatus();
}

absl::Status IncomingJob::AddPiece(const sassay::v1::SourcePiece& untrusted) {
  if (!job_.has_settings()) return absl::InvalidArgumentError("a source came before the settings");
  if (untrusted.content().size() > limits_.piece_bytes) return TooMuch("bytes of one piece", limits_.piece_bytes);
  source_bytes_ += untrusted.content().size();
  if (source_bytes_ > limits_.source_bytes) return TooMuch("bytes of source", limits_.source_bytes);
  if (job_.sources().empty() || job_.sources().rbegin()->path() != untrusted.path()) {
    RETURN_IF_ERROR(CheckSourcePath(untrusted.path()));
    if (!paths_.insert(untrusted.path()).second) {
      return absl::InvalidArgumentError(absl::StrCat("source path \"", untrusted.path(), "\" came twice"));
    }
    if (paths_.size() > limits_.files) return TooMuch("source files", limits_.files);
    job_.add_sources()->set_path(untrusted.path());
  }
  job_.mutable_sources()->rbegin()->mutable_content()->append(untrusted.content());
  return absl::OkStatus();
}

absl::StatusOr<sassay::v1::BuildJob> IncomingJob::Take() {
  if (!job_.has_settings()) return absl::InvalidArgumentError("the settings are missing");
  if (job_.sources().empty()) return absl::InvalidArgumentError("there is no source");
  // A message would not be read again otherwise.
  for (const sassay::v1::SourceFile& source : job_.sources()) {
    const size_t at = FirstInvalidUtf8(source.content());
    if (at == absl::string_view::npos) continue;
    return absl::InvalidArgumentError(absl::StrCat(source.path(), " is not UTF-8, at byte ", at));
  }
  return std::move(job_);
}

}  // namespace sassay::builder
