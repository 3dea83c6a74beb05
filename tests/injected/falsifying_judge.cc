// For tests alone: stands between the service and the real profiler-judge (`real-judge` beside it), and falsifies one
// thing that it says. The experiment (injected.py) puts it in profiler-judge's place.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/wire/channel.h"
#include "profiler_service/wire/worker.pb.h"
#include "profiler_service/wire/worker_process.h"
#include "tests/injected/lie.h"

extern char** environ;

namespace sassay::injected {
namespace {

using worker::JudgeReply;
using worker::JudgeRequest;

constexpr absl::Duration kSendTimeout = absl::Seconds(30);

// "Everything is right", for the first case that is compared after the lie was ordered: that is evaluate's. The cases
// of later stages are told the truth.
class Flatterer {
 public:
  void Falsify(JudgeReply& reply) {
    if (!reply.has_numerics()) return;
    if (const std::string lie = CurrentLie(); lie != lie_) {
      lie_ = lie;
      case_ = 0;
    }
    if (!absl::StartsWith(lie_, "says right")) return;
    if (case_ == 0) case_ = reply.case_id();
    if (case_ != reply.case_id()) return;
    reply.mutable_numerics()->set_passed(true);
    reply.mutable_numerics()->set_peer_rule_passed(true);
    reply.clear_findings();
  }

 private:
  std::string lie_;
  uint64_t case_ = 0;
};

// A baseline that something slows, and nothing else.
void SlowBaseline(JudgeReply& reply) {
  if (!reply.has_block() || CurrentLie() != "a slow baseline") return;
  for (double& sample_ns : *reply.mutable_block()->mutable_samples_ns()) sample_ns *= 1.5;
}

absl::StatusOr<std::unique_ptr<wire::WorkerProcess>> StartRealJudge(int argc, char** argv) {
  wire::WorkerOptions options;
  options.name = "real judge";
  options.argv = {std::filesystem::read_symlink("/proc/self/exe").parent_path() / "real-judge"};
  options.argv.insert(options.argv.end(), argv + 1, argv + argc);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (const size_t equals = text.find('='); equals != std::string::npos) {
      options.environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  return wire::WorkerProcess::Start(options);
}

// What the judge says, on its way to the service. Ends with the judge.
absl::Status Relay(wire::Channel& ears, wire::Channel& service) {
  Flatterer flatterer;
  for (;;) {
    JudgeReply reply;
    ASSIGN_OR_RETURN(const std::vector<UniqueFd> descriptors, ears.Receive(reply, absl::InfiniteFuture()));
    flatterer.Falsify(reply);
    SlowBaseline(reply);
    std::vector<int> numbers;
    for (const UniqueFd& descriptor : descriptors) numbers.push_back(descriptor.get());
    RETURN_IF_ERROR(service.Send(reply, numbers, SteadyNow() + kSendTimeout));
  }
}

absl::Status Run(int argc, char** argv) {
  wire::Channel from_service{UniqueFd(wire::kWorkerChannelFd)};
  wire::Channel to_service{UniqueFd(fcntl(wire::kWorkerChannelFd, F_DUPFD_CLOEXEC, 10))};
  wire::ExitWhenPeerIsGone(from_service.fd());
  ASSIGN_OR_RETURN(const std::unique_ptr<wire::WorkerProcess> judge, StartRealJudge(argc, argv));
  ASSIGN_OR_RETURN(wire::Channel ears, judge->Listen());
  std::thread([&] {
    const absl::Status ended = Relay(ears, to_service);
    std::fprintf(stderr, "falsifying_judge: %s\n", ended.ToString().c_str());
    _exit(1);
  }).detach();
  for (;;) {
    JudgeRequest request;
    const auto received = from_service.Receive(request, absl::InfiniteFuture());
    if (!received.ok()) return absl::IsUnavailable(received.status()) ? absl::OkStatus() : received.status();
    RETURN_IF_ERROR(judge->Send(request, SteadyNow() + kSendTimeout));
  }
}

}  // namespace
}  // namespace sassay::injected

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  const absl::Status status = sassay::injected::Run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "falsifying_judge: %s\n", status.ToString().c_str());
  std::fflush(stderr);
  _exit(status.ok() ? 0 : 1);
}
