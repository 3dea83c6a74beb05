#include "common/bundle/bundle.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/wire_format_lite.h"

namespace sassay {
namespace {

using sassay::v1::Bundle;

constexpr uint32_t kMaxArchBytes = 16;

const std::string& KeyOf(const v1::KernelFacts& kernel) { return kernel.symbol(); }
const std::string& KeyOf(const v1::LaunchPlan& plan) { return plan.workload(); }
const std::string& KeyOf(const v1::SourceFile& file) { return file.path(); }

template <typename T>
void Sort(google::protobuf::RepeatedPtrField<T>& items) {
  std::sort(items.pointer_begin(), items.pointer_end(), [](const T* a, const T* b) { return KeyOf(*a) < KeyOf(*b); });
}

template <typename T>
absl::Status CheckStrictlyAscending(const google::protobuf::RepeatedPtrField<T>& items, absl::string_view field) {
  for (int i = 1; i < items.size(); ++i) {
    if (KeyOf(items[i - 1]) == KeyOf(items[i])) {
      return absl::InvalidArgumentError(absl::StrCat(field, "[", i, "]: ", KeyOf(items[i]), " appears twice"));
    }
    if (KeyOf(items[i - 1]) > KeyOf(items[i])) {
      return absl::InvalidArgumentError(absl::StrCat(field, "[", i, "]: not in order, so the bundle is not canonical"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOrder(const Bundle& bundle) {
  RETURN_IF_ERROR(CheckStrictlyAscending(bundle.kernels(), "kernels"));
  RETURN_IF_ERROR(CheckStrictlyAscending(bundle.plans(), "plans"));
  return CheckStrictlyAscending(bundle.sources(), "sources");
}

std::string DeterministicBytes(const Bundle& bundle) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    bundle.SerializeWithCachedSizes((static_cast<void>(bundle.ByteSizeLong()), &coded));
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> SerializeBundle(Bundle bundle) {
  bundle.set_format_version(kBundleFormatVersion);
  Sort(*bundle.mutable_kernels());
  Sort(*bundle.mutable_plans());
  Sort(*bundle.mutable_sources());
  RETURN_IF_ERROR(CheckOrder(bundle));
  const google::protobuf::LogSilencer silencer;
  std::string bytes = DeterministicBytes(bundle);
  if (Bundle copy; !copy.ParseFromString(bytes)) {
    return absl::InvalidArgumentError("bundle: a text field is not UTF-8, or the bundle is larger than 2 GiB");
  }
  return bytes;
}

absl::StatusOr<Bundle> ParseBundle(absl::string_view untrusted, const BundleLimits& limits) {
  if (untrusted.size() > limits.max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("bundle: ", untrusted.size(), " bytes, more than the limit of ", limits.max_bytes));
  }
  if (untrusted.empty()) return absl::InvalidArgumentError("bundle: it is empty");
  RETURN_IF_ERROR(ScanWire(*Bundle::descriptor(), untrusted, limits.wire));
  // Invalid UTF-8 is the sender's fault: it is answered, and not written to our log.
  const google::protobuf::LogSilencer silencer;
  Bundle bundle;
  if (!bundle.ParseFromArray(untrusted.data(), static_cast<int>(untrusted.size()))) {
    return absl::InvalidArgumentError("bundle: broken wire format, or a text field is not UTF-8");
  }
  if (bundle.format_version() != kBundleFormatVersion) {
    return absl::InvalidArgumentError(absl::StrCat("format_version: ", bundle.format_version(), ", this build reads ",
                                                   kBundleFormatVersion, "; compile again with a matching agent"));
  }
  RETURN_IF_ERROR(CheckOrder(bundle));
  if (DeterministicBytes(bundle) != untrusted) {
    return absl::InvalidArgumentError("bundle: its bytes are not canonical; write it with mini-ptx-agent");
  }
  return bundle;
}

absl::StatusOr<std::string> PeekArch(absl::string_view untrusted_beginning) {
  using google::protobuf::internal::WireFormatLite;
  constexpr auto kVarint = WireFormatLite::WIRETYPE_VARINT;
  constexpr auto kBytes = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(untrusted_beginning.data()),
                                            static_cast<int>(std::min(untrusted_beginning.size(), kPeekBytes)));
  uint32_t format = 0, length = 0;
  std::string source, arch;
  const bool read =
      in.ExpectTag(WireFormatLite::MakeTag(Bundle::kFormatVersionFieldNumber, kVarint)) && in.ReadVarint32(&format) &&
      (!in.ExpectTag(WireFormatLite::MakeTag(Bundle::kSourceSha256FieldNumber, kBytes)) ||
       (in.ReadVarint32(&length) && length <= kPeekBytes && in.ReadString(&source, static_cast<int>(length)))) &&
      in.ExpectTag(WireFormatLite::MakeTag(Bundle::kCompilationFieldNumber, kBytes)) && in.ReadVarint32(&length) &&
      in.ExpectTag(WireFormatLite::MakeTag(v1::Compilation::kArchFieldNumber, kBytes)) && in.ReadVarint32(&length) &&
      length <= kMaxArchBytes && in.ReadString(&arch, static_cast<int>(length));
  const auto plain = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; };
  if (read && std::all_of(arch.begin(), arch.end(), plain)) return arch;
  return absl::InvalidArgumentError("bundle: its bytes do not begin as a bundle's; write it with mini-ptx-agent");
}

std::string BundleDigest(absl::string_view canonical_bytes) { return Sha256Hex(canonical_bytes); }

const v1::LaunchPlan* FindPlan(const Bundle& bundle, absl::string_view workload) {
  for (const v1::LaunchPlan& plan : bundle.plans()) {
    if (plan.workload() == workload) return &plan;
  }
  return nullptr;
}

std::string SourceDigest(const google::protobuf::RepeatedPtrField<v1::SourceFile>& sources) {
  std::vector<std::string> lines;
  for (const v1::SourceFile& file : sources) {
    lines.push_back(absl::StrCat(Sha256(file.path()), Sha256(file.content())));
  }
  std::sort(lines.begin(), lines.end());
  Sha256Stream stream;
  for (const std::string& line : lines) stream.Update(line);
  return stream.Finish();
}

}  // namespace sassay
