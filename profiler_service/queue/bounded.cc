#include "profiler_service/queue/bounded.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/utf8.h"

namespace sassay::queue {
namespace {

constexpr char kCut[] = "... (cut)";

std::string Cut(absl::string_view text, size_t most) {
  if (text.size() <= most) return ToUtf8(text);
  return ToUtf8(text.substr(0, most - sizeof(kCut))) + kCut;
}

std::string Bounded(absl::string_view text) { return Cut(text, kMaxTextBytes); }

std::string Short(absl::string_view text) { return Cut(text, kShortTextBytes); }

}  // namespace

void BoundTexts(google::protobuf::Message& message) { RewriteTexts(message, Bounded); }

void BoundVerdict(sassay::v1::Verdict& verdict) {
  BoundTexts(verdict);
  const size_t bytes = verdict.ByteSizeLong();
  if (bytes <= kMaxVerdictBytes) return;
  RewriteTexts(verdict, Short);
  if (verdict.ByteSizeLong() <= kMaxVerdictBytes) {
    verdict.mutable_details()->add_notes(absl::StrCat("long texts of this verdict were cut: it had ", bytes,
                                                      " bytes, at most ", kMaxVerdictBytes, " are kept"));
    return;
  }
  verdict.clear_details();
  if (verdict.ByteSizeLong() > kMaxVerdictBytes) verdict.clear_diagnoses();
  if (verdict.ByteSizeLong() > kMaxVerdictBytes) verdict.clear_sanitizers();
  if (verdict.ByteSizeLong() > kMaxVerdictBytes) verdict.clear_evidence();
  if (verdict.ByteSizeLong() > kMaxVerdictBytes) verdict.clear_timing();
  if (verdict.ByteSizeLong() > kMaxVerdictBytes) verdict.clear_numerics();
  if (verdict.ByteSizeLong() > kMaxVerdictBytes) verdict.clear_stages();
  verdict.mutable_details()->add_notes(absl::StrCat("parts of this verdict were dropped: it had ", bytes,
                                                    " bytes, at most ", kMaxVerdictBytes, " are kept"));
}

}  // namespace sassay::queue
