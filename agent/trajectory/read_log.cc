#include "agent/trajectory/read_log.h"

#include "absl/strings/str_cat.h"
#include "agent/trajectory/fold.h"
#include "agent/trajectory/json_form.h"
#include "agent/trajectory/layout.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

absl::Status TakeLine(absl::string_view line, Trajectory& trajectory) {
  if (line.size() > kMaxLineBytes)
    return absl::InvalidArgumentError(absl::StrCat(line.size(), " bytes; at most ", kMaxLineBytes, " are read"));
  ASSIGN_OR_RETURN(const v1::TrajectoryRecord record, ParseRecord(line));
  return Fold(record, trajectory);
}

}  // namespace

absl::StatusOr<LogContent> ParseLog(absl::string_view untrusted_text) {
  LogContent content;
  for (size_t number = 1;; ++number) {
    const size_t end = untrusted_text.find('\n', content.whole_bytes);
    if (end == absl::string_view::npos) return content;
    const absl::string_view line = untrusted_text.substr(content.whole_bytes, end - content.whole_bytes);
    if (const absl::Status status = TakeLine(line, content.trajectory); !status.ok())
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", status.message()));
    content.whole_bytes = end + 1;
  }
}

absl::StatusOr<LogContent> ReadLog(const std::filesystem::path& path) {
  const absl::StatusOr<std::string> text = ReadUntrustedFile(path, kMaxLogBytes);
  if (absl::IsNotFound(text.status())) return LogContent();
  if (!text.ok()) return absl::DataLossError(text.status().message());
  absl::StatusOr<LogContent> content = ParseLog(*text);
  if (!content.ok()) return absl::DataLossError(absl::StrCat(path.string(), ", ", content.status().message()));
  return content;
}

}  // namespace sassay::agent
