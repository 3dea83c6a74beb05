// For tests alone: profiler-runner, which falsifies one thing. The experiment (injected.py) puts it in
// profiler-runner's place; everything that it does not falsify is the real runner's, on a real device.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/device/device.h"
#include "profiler_service/runner/output_capture.h"
#include "profiler_service/runner/runner.h"
#include "profiler_service/wire/channel.h"
#include "tests/injected/lie.h"

namespace sassay::injected {
namespace {

using worker::RunMode;
using worker::RunnerReply;
using worker::RunnerRequest;

// 1024 as bf16; no output of the examples comes near it.
constexpr char kWrongElement[2] = {static_cast<char>(0x80), 0x44};
constexpr double kFasterThanItIs = 4;

// A runner between the service and the truth. Thread-compatible.
class Falsifier {
 public:
  Falsifier(device::Device& device, runner::Runner& runner, RunMode mode)
      : device_(device), runner_(runner), mode_(mode) {}

  absl::StatusOr<RunnerReply> Answer(const RunnerRequest& request, const std::vector<UniqueFd>& descriptors) {
    if (request.has_load()) Load(request.load());
    if (lie_ == "a fault with a made-up number" && mode_ == worker::RUN_MODE_PLAIN) return FaultOf(2);
    if (request.has_bind()) RETURN_IF_ERROR(Bind(request.bind(), descriptors));
    if (request.has_steady() && lie_ == "runs nothing" && mode_ == worker::RUN_MODE_PLAIN) return Claim();
    RunnerReply reply = runner_.Answer(request, descriptors);
    if (request.has_steady()) RETURN_IF_ERROR(AfterCall(reply));
    if (request.has_block()) RETURN_IF_ERROR(AfterBlock(reply));
    return reply;
  }

 private:
  void Load(const worker::LoadCandidate& load) {
    lie_ = CurrentLie();
    const auto& buffers = load.bundle().plans(0).buffers();
    for (int i = 0; i < buffers.size(); ++i) kinds_[static_cast<uint32_t>(i)] = buffers[i].kind();
  }

  // A second mapping of the judge's memory, to write to.
  absl::Status Bind(const worker::BindBuffers& bind, const std::vector<UniqueFd>& descriptors) {
    for (const worker::SharedRegion& region : bind.regions()) {
      if (objects_.count(region.memory()) == 0) {
        const UniqueFd& descriptor = descriptors.at(region.memory() - earlier_descriptors_);
        ASSIGN_OR_RETURN(objects_[region.memory()], device_.MapShared(descriptor.get(), region.object_bytes()));
      }
      const device::DeviceAddress middle =
          objects_[region.memory()] + region.offset_bytes() + region.size_bytes() / 4 * 2;
      if (kinds_[region.buffer()] == v1::BUFFER_KIND_OUTPUT) outputs_.push_back(middle);
      if (kinds_[region.buffer()] == v1::BUFFER_KIND_INPUT) inputs_.push_back(middle);
    }
    earlier_descriptors_ += descriptors.size();
    return absl::OkStatus();
  }

  static RunnerReply Claim() {
    RunnerReply reply;
    reply.set_outcome(worker::RUN_OUTCOME_OK);
    reply.set_code(v1::VERDICT_CODE_OK);
    reply.set_device_ns(1000);
    return reply;
  }

  // A fault whose cause is a number that no cause has.
  static RunnerReply FaultOf(int number) {
    RunnerReply reply;
    reply.set_outcome(worker::RUN_OUTCOME_FAULT);
    reply.set_code(static_cast<v1::VerdictCode>(number));
    return reply;
  }

  absl::Status WriteWrong(const std::vector<device::DeviceAddress>& elements) {
    for (const device::DeviceAddress element : elements) RETURN_IF_ERROR(device_.Write(element, kWrongElement));
    return absl::OkStatus();
  }

  absl::Status AfterCall(RunnerReply& reply) {
    if (mode_ == worker::RUN_MODE_PLAIN && lie_ == "one element of an output") return WriteWrong(outputs_);
    if (mode_ == worker::RUN_MODE_PLAIN && lie_ == "one element of an input") return WriteWrong(inputs_);
    if (mode_ == worker::RUN_MODE_CHECKED && lie_ == "no findings") reply = Claim();
    if (mode_ == worker::RUN_MODE_COUNTED && lie_ == "one element of the counted call") return WriteWrong(outputs_);
    if (mode_ == worker::RUN_MODE_COUNTED) Miscount(*reply.mutable_sass_counts());
    return absl::OkStatus();
  }

  void Miscount(worker::SassCounts& counts) const {
    if (counts.launches().empty()) return;
    if (lie_ == "a lost record") counts.mutable_launches()->RemoveLast();
    if (lie_ != "everything counted twice") return;
    for (worker::SassLaunchCounts& launch : *counts.mutable_launches()) {
      for (worker::SassFunctionCounts& function : *launch.mutable_functions()) {
        for (auto& count : *function.mutable_warp_count()) count *= 2;
        for (auto& count : *function.mutable_thread_count()) count *= 2;
      }
    }
  }

  absl::Status AfterBlock(RunnerReply& reply) {
    if (lie_ == "one element of every timed call") return WriteWrong(outputs_);
    if (lie_ != "a quarter of the time") return absl::OkStatus();
    for (double& sample : *reply.mutable_block()->mutable_samples_ns()) sample /= kFasterThanItIs;
    return absl::OkStatus();
  }

  device::Device& device_;
  runner::Runner& runner_;
  const RunMode mode_;
  std::string lie_;
  std::map<uint32_t, v1::BufferKind> kinds_;
  std::map<uint32_t, device::DeviceAddress> objects_;    // by SharedRegion.memory; several sets may lie in one
  size_t earlier_descriptors_ = 0;                       // that came with earlier messages
  std::vector<device::DeviceAddress> outputs_, inputs_;  // an element of each, of every set
};

absl::Status Serve(wire::Channel& channel, Falsifier& falsifier) {
  for (;;) {
    RunnerRequest request;
    const auto descriptors = channel.Receive(request, absl::InfiniteFuture());
    if (absl::IsUnavailable(descriptors.status())) return absl::OkStatus();
    RETURN_IF_ERROR(descriptors.status());
    ASSIGN_OR_RETURN(const RunnerReply reply, falsifier.Answer(request, *descriptors));
    RETURN_IF_ERROR(channel.Send(reply, {}, SteadyNow() + absl::Seconds(60)));
  }
}

absl::Status Run(const std::string& device_name, RunMode mode) {
  wire::Channel channel{UniqueFd(wire::kWorkerChannelFd)};
  wire::ExitWhenPeerIsGone(channel.fd(),
                           mode == worker::RUN_MODE_CHECKED ? absl::Seconds(10) : absl::Milliseconds(500));
  ASSIGN_OR_RETURN(auto output, runner::OutputCapture::Start());
  ASSIGN_OR_RETURN(const auto device, device::OpenDevice(device_name, mode));
  runner::Runner honest(*device, mode, [&] { return output.Take(); });
  RETURN_IF_ERROR(channel.Send(honest.Ready(), {}, SteadyNow() + absl::Seconds(10)));
  Falsifier falsifier(*device, honest, mode);
  return Serve(channel, falsifier);
}

}  // namespace
}  // namespace sassay::injected

int main(int argc, char** argv) {
  CLI::App app{"For tests: a runner that falsifies what the file `falsify` beside it says"};
  std::string device, mode_name;
  app.add_option("--device", device)->required();
  app.add_option("--mode", mode_name)->required();
  CLI11_PARSE(app, argc, argv);
  sassay::worker::RunMode mode;
  if (!sassay::worker::RunMode_Parse("RUN_MODE_" + mode_name, &mode)) return 2;
  signal(SIGPIPE, SIG_IGN);
  const absl::Status status = sassay::injected::Run(device, mode);
  if (status.ok()) return 0;
  fprintf(stderr, "falsifying_runner: %s\n", status.ToString().c_str());
  fflush(stderr);
  _exit(1);
}
