#include "profiler_service/wire/gpu_nodes.h"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/fd.h"
#include "common/base/files.h"

namespace sassay::wire {
namespace {

namespace fs = std::filesystem;

// Lines of "Key: <spaces and tabs> value".
std::map<std::string, std::string> ReadInformation(const fs::path& path) {
  std::map<std::string, std::string> fields;
  const auto text = ReadFile(path, 1 << 16);
  if (!text.ok()) return fields;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    fields[std::string(absl::StripAsciiWhitespace(field.first))] =
        std::string(absl::StripAsciiWhitespace(field.second));
  }
  return fields;
}

bool CanOpen(const fs::path& node) { return UniqueFd(open(node.c_str(), O_RDWR | O_CLOEXEC)).valid(); }

// In PCI order, whether or not they can be opened.
std::vector<GpuNode> AllGpus(const fs::path& root) {
  std::vector<GpuNode> gpus;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "proc/driver/nvidia/gpus", error)) {
    const auto fields = ReadInformation(entry.path() / "information");
    const auto minor = fields.find("Device Minor");
    if (minor == fields.end()) continue;
    GpuNode gpu;
    gpu.bus_id = entry.path().filename().string();
    if (fields.count("GPU UUID") != 0) gpu.uuid = fields.at("GPU UUID");
    if (fields.count("Model") != 0) gpu.model = fields.at("Model");
    gpu.node = (root / "dev" / absl::StrCat("nvidia", minor->second)).string();
    gpus.push_back(std::move(gpu));
  }
  std::sort(gpus.begin(), gpus.end(), [](const GpuNode& a, const GpuNode& b) { return a.bus_id < b.bus_id; });
  return gpus;
}

}  // namespace

std::string StableName(absl::string_view device, const fs::path& root) {
  const absl::optional<GpuNode> gpu = FindGpu(device, root);
  return gpu.has_value() && !gpu->uuid.empty() ? absl::StrCat("cuda:", gpu->uuid) : std::string(device);
}

std::vector<GpuNode> ListGpuNodes(const fs::path& root) {
  std::vector<GpuNode> gpus = AllGpus(root);
  gpus.erase(std::remove_if(gpus.begin(), gpus.end(), [](const GpuNode& gpu) { return !CanOpen(gpu.node); }),
             gpus.end());
  return gpus;
}

absl::optional<GpuNode> FindGpu(absl::string_view device, const fs::path& root) {
  if (!absl::ConsumePrefix(&device, "cuda:")) return absl::nullopt;
  if (size_t index = 0; absl::SimpleAtoi(device, &index)) {
    std::vector<GpuNode> gpus = ListGpuNodes(root);
    return index < gpus.size() ? absl::make_optional(std::move(gpus[index])) : absl::nullopt;
  }
  for (GpuNode& gpu : AllGpus(root)) {
    if (gpu.uuid == device && CanOpen(gpu.node)) return std::move(gpu);
  }
  return absl::nullopt;
}

}  // namespace sassay::wire
