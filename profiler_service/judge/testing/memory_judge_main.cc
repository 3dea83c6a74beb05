// A judge process whose device is only memory: what tests of supervision start in place of profiler-judge.
#include <unistd.h>

#include <cstdlib>

#include "profiler_service/judge/judge.h"
#include "profiler_service/judge/serve.h"
#include "profiler_service/judge/testing/memory_device.h"
#include "profiler_service/wire/channel.h"

namespace {

// Its context is lost as soon as the file is there.
class Losing : public sassay::judge::MemoryDevice {
 public:
  bool usable() override {
    const char* file = std::getenv("MEMORY_JUDGE_IS_LOST_BY");
    return file == nullptr || access(file, F_OK) != 0;
  }
};

}  // namespace

int main() {
  using namespace sassay;  // NOLINT: a test's main
  wire::ExitWhenPeerIsGone(wire::kWorkerChannelFd);
  wire::Channel channel{UniqueFd(wire::kWorkerChannelFd)};
  for (const char* file = std::getenv("MEMORY_JUDGE_WAITS_FOR"); file != nullptr && access(file, F_OK) != 0;)
    usleep(1000);
  if (std::getenv("MEMORY_JUDGE_REFUSES") != nullptr) {
    return judge::Refuse(absl::UnavailableError("cuda:7: no such GPU"), std::move(channel)).ok() ? 0 : 1;
  }
  Losing device;
  judge::StateOptions options;
  options.catalog = &WorkloadCatalog::BuiltIn();
  judge::Judge judge(device, options, 64 << 20);
  return judge::Serve(judge, std::move(channel)).ok() ? 0 : 1;
}
