#include "common/toolchain/bundle_target.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr uint32_t kMaxToolkitBytes = 32;

uint32_t TagOf(int field) { return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED); }

// The field that follows Compilation.arch, if it is the toolkit's version. Which bytes stand before it PeekArch knows.
std::string ToolkitBehind(absl::string_view untrusted, const std::string& arch) {
  const std::string field = absl::StrCat(std::string(1, static_cast<char>(TagOf(v1::Compilation::kArchFieldNumber))),
                                         std::string(1, static_cast<char>(arch.size())), arch);
  const size_t at = untrusted.find(field);
  if (at == absl::string_view::npos) return "";
  const absl::string_view rest = untrusted.substr(at + field.size());
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(rest.data()),
                                            static_cast<int>(std::min(rest.size(), kPeekBytes)));
  uint32_t length = 0;
  std::string toolkit;
  const bool read = in.ExpectTag(TagOf(v1::Compilation::kToolkitVersionFieldNumber)) && in.ReadVarint32(&length) &&
                    length <= kMaxToolkitBytes && in.ReadString(&toolkit, static_cast<int>(length));
  const auto plain = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '.'; };
  return read && std::all_of(toolkit.begin(), toolkit.end(), plain) ? toolkit : "";
}

}  // namespace

absl::StatusOr<BundleTarget> PeekTarget(absl::string_view untrusted_beginning) {
  ASSIGN_OR_RETURN(std::string arch, PeekArch(untrusted_beginning));
  std::string toolkit = ToolkitBehind(untrusted_beginning.substr(0, kPeekBytes), arch);
  return BundleTarget{std::move(arch), std::move(toolkit)};
}

}  // namespace sassay
