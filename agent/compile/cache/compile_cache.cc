#include "agent/compile/cache/compile_cache.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using sassay::v1::Bundle;
using sassay::v1::Verdict;
using sassay::v1::VerdictDetails;

constexpr absl::string_view kMagic = "sassay-compile-3\n";
constexpr size_t kDigestBytes = 32;
// When the folder is full it is emptied down to this share, so that not every Put has to.
constexpr double kKeep = 0.8;

void AppendPart(std::string& text, absl::string_view part) {
  absl::StrAppend(&text, absl::Hex(part.size(), absl::kZeroPad16), part);
}

std::optional<absl::string_view> TakePart(absl::string_view& text) {
  uint64_t size = 0;
  if (text.size() < 16 || !absl::SimpleHexAtoi(text.substr(0, 16), &size) || size > text.size() - 16)
    return std::nullopt;
  absl::string_view part = text.substr(16, size);
  text.remove_prefix(16 + size);
  return part;
}

std::string Encode(const CompiledCandidate& candidate) {
  Bundle bundle;
  *bundle.mutable_compilation() = candidate.compilation;
  bundle.set_cubin(candidate.cubin);
  bundle.set_ptx(candidate.ptx);
  for (const auto& kernel : candidate.kernels) *bundle.add_kernels() = kernel;
  VerdictDetails details;
  for (const auto& diagnostic : candidate.diagnostics) *details.add_diagnostics() = diagnostic;
  std::string text = "C";
  AppendPart(text, bundle.SerializeAsString());
  AppendPart(text, candidate.shared_object);
  AppendPart(text, details.SerializeAsString());
  AppendPart(text, candidate.sass_families_missing);
  AppendPart(text, candidate.unsandboxed_reason);
  return text;
}

std::optional<CompileCache::Entry> DecodeCandidate(absl::string_view text) {
  std::vector<absl::string_view> parts;
  while (auto part = TakePart(text)) parts.push_back(*part);
  Bundle bundle;
  VerdictDetails details;
  if (parts.size() != 5 || !bundle.ParseFromArray(parts[0].data(), static_cast<int>(parts[0].size())) ||
      !details.ParseFromArray(parts[2].data(), static_cast<int>(parts[2].size()))) {
    return std::nullopt;
  }
  CompiledCandidate candidate;
  candidate.compilation = bundle.compilation();
  candidate.cubin = std::move(*bundle.mutable_cubin());
  candidate.ptx = std::move(*bundle.mutable_ptx());
  candidate.kernels.assign(bundle.kernels().begin(), bundle.kernels().end());
  candidate.diagnostics.assign(details.diagnostics().begin(), details.diagnostics().end());
  candidate.shared_object = std::string(parts[1]);
  candidate.sass_families_missing = std::string(parts[3]);
  candidate.unsandboxed_reason = std::string(parts[4]);
  candidate.from_cache = true;
  return candidate;
}

std::optional<CompileCache::Entry> Decode(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "C")) return DecodeCandidate(text);
  Verdict verdict;
  if (!absl::ConsumePrefix(&text, "V") || !verdict.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return std::nullopt;
  }
  return verdict;
}

struct CacheFile {
  fs::path path;
  fs::file_time_type used;
  uint64_t bytes = 0;
};

std::vector<CacheFile> List(const fs::path& folder) {
  std::vector<CacheFile> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    CacheFile file{entry.path(), entry.last_write_time(error), entry.file_size(error)};
    if (!error) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

std::optional<CompileCache::Entry> CompileCache::Find(absl::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  fs::path path = folder_ / std::string(key);
  auto text = ReadFile(path);
  if (!text.ok()) return std::nullopt;
  absl::string_view rest = *text;
  if (!absl::ConsumePrefix(&rest, kMagic) || rest.size() < kDigestBytes) return std::nullopt;
  absl::string_view body = rest.substr(kDigestBytes);
  if (Sha256(body) != rest.substr(0, kDigestBytes)) return std::nullopt;
  std::error_code error;
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return Decode(body);
}

absl::Status CompileCache::Put(absl::string_view key, const Entry& entry) const {
  if (folder_.empty()) return absl::OkStatus();
  const auto* candidate = std::get_if<CompiledCandidate>(&entry);
  std::string body =
      candidate != nullptr ? Encode(*candidate) : absl::StrCat("V", std::get<Verdict>(entry).SerializeAsString());
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return absl::UnavailableError(absl::StrCat("cannot make ", folder_.string(), ": ", error.message()));
  RETURN_IF_ERROR(WriteFileAtomically(folder_ / std::string(key), absl::StrCat(kMagic, Sha256(body), body)));
  Shrink();
  return absl::OkStatus();
}

void CompileCache::Shrink() const {
  std::vector<CacheFile> files = List(folder_);
  uint64_t total = 0;
  for (const auto& file : files) total += file.bytes;
  if (total <= limit_bytes_) return;
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.used < b.used; });
  for (const auto& file : files) {
    if (total <= static_cast<uint64_t>(kKeep * static_cast<double>(limit_bytes_))) return;
    std::error_code error;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

}  // namespace sassay
