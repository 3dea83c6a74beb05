#include "agent/build/remote_builder.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/notification.h"
#include "agent/build/check_answer.h"
#include "agent/submit/from_settings.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/process/every_run.h"
#include "common/process/thread_stop.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/stopper.h"
#include "common/terminal/text.h"

namespace sassay::agent {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr absl::Duration kLook = absl::Milliseconds(50);

absl::Status OnlyHere(absl::string_view what, absl::string_view instead) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is of this machine, and --builder compiles on another one; ", instead));
}

absl::Status CheckSettings(const Settings& settings) {
  if (!settings.Text("device_table").empty())
    return OnlyHere("--device-table", "name a --device that the builder knows, or compile here");
  for (const char* key : {"cuda", "cuda_home", "cache_dir", "allow_unsandboxed", "triton_venv"}) {
    const std::string& origin = settings.Origin(key);
    if (absl::StartsWith(origin, "flag ")) return OnlyHere(origin.substr(5), "leave it out");
  }
  return absl::OkStatus();
}

v1::BuildSettings SettingsOf(const Settings& settings) {
  v1::BuildSettings asked;
  asked.set_arch(settings.Text("arch"));
  asked.set_abi(settings.Text("abi"));
  asked.set_profile(settings.Text("profile"));
  asked.set_device(settings.Text("device"));
  asked.set_autotune_config(static_cast<uint32_t>(settings.Count("autotune_config")));
  SetDuration(settings.Duration("compile_deadline", absl::Minutes(2)), *asked.mutable_compile_deadline());
  return asked;
}

absl::StatusOr<SecureChannel> OpenChannel(const Settings& settings) {
  ConnectionOptions options = ConnectionFrom(settings);
  options.service = settings.Text("builder");
  absl::StatusOr<SecureChannel> channel = SecureChannel::Open(options);
  if (channel.ok()) return channel;
  return absl::Status(channel.status().code(),
                      absl::StrReplaceAll(channel.status().message(), {{"--service", "--builder"}}));
}

v1::DefinedWorkload Defined(const v1::Workload& workload) {
  v1::DefinedWorkload defined;
  defined.set_name(workload.name());
  defined.set_definition_json(workload.definition_json());
  defined.set_definition_sha256(workload.definition_sha256());
  return defined;
}

std::vector<v1::BuildRequest> PartsOf(const BuildInput& input, const v1::BuildSettings& settings) {
  std::vector<v1::BuildRequest> parts(1);
  v1::BuildSettings& asked = *parts.front().mutable_settings();
  asked = settings;
  for (const v1::Workload& workload : input.workloads) *asked.add_workloads() = Defined(workload);
  for (const v1::Workload& workload : input.welcome) *asked.add_welcome() = Defined(workload);
  for (const std::string& define : input.defines) asked.add_defines(define);
  for (const v1::SourceFile& source : input.sources) {
    size_t at = 0;
    do {
      v1::SourcePiece& piece = *parts.emplace_back().mutable_source();
      piece.set_path(source.path());
      piece.set_content(source.content().substr(at, kPieceBytes));
      at += kPieceBytes;
    } while (at < source.content().size());
  }
  return parts;
}

// Ends a call when this thread, or the whole process, is told to stop.
class CallWatch {
 public:
  explicit CallWatch(Stopper& stopper)
      : thread_([this, &stopper, stop = ThreadStop::Current()] {
          while (!done_.WaitForNotificationWithTimeout(kLook)) {
            if (EveryRunIsCancelled() || (stop != nullptr && *stop && (*stop)())) stopper.Stop();
          }
        }) {}
  ~CallWatch() {
    done_.Notify();
    thread_.join();
  }

 private:
  absl::Notification done_;
  std::thread thread_;
};

// What came of one call.
struct Answer {
  bool reached = false;   // the builder has said something
  bool too_long = false;  // more than it announced; the call was ended
  v1::BuildResult result;
  std::string bundle;
};

absl::Status Trouble(const grpc::Status& status, const std::string& builder) {
  const char* advice = "";
  if (status.error_code() == grpc::UNAUTHENTICATED) {
    advice = " The builder wants a token: pass --token-file FILE or set SASSAY_TOKEN.";
  } else if (status.error_code() == grpc::UNIMPLEMENTED) {
    advice = " There is a service that does not build; --builder wants a profiler-service --role builder.";
  } else if (status.error_code() == grpc::UNAVAILABLE) {
    advice = " Is it running, and are --builder, --ca-file and --insecure right?";
  } else if (status.error_code() == grpc::RESOURCE_EXHAUSTED) {
    advice = " Try again later, or at another builder.";
  }
  const std::string said = PlainCause(status);
  return absl::Status(
      static_cast<absl::StatusCode>(status.error_code()),
      absl::StrCat("could not build at ", builder, ": ", said, absl::EndsWith(said, ".") ? "" : ".", advice));
}

std::string BuiltText(const BuiltBundle& built) {
  return absl::StrCat("compiled in ", DurationText(absl::ToDoubleNanoseconds(built.compile_time)),
                      built.compile_cached ? " (from its cache)" : "", ", captured in ",
                      DurationText(absl::ToDoubleNanoseconds(built.capture_time)));
}

absl::Status Doubtful(const std::string& builder, const absl::Status& why) {
  return absl::DataLossError(absl::StrCat("what the builder ", builder, " answered does not belong to what was asked: ",
                                          why.message(), ". Ask its operator, or compile on a machine of your own."));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Builder>> RemoteBuilder::Make(const Settings& settings) {
  RETURN_IF_ERROR(CheckSettings(settings));
  ASSIGN_OR_RETURN(SecureChannel channel, OpenChannel(settings));
  return std::unique_ptr<Builder>(
      new RemoteBuilder(std::move(channel), SettingsOf(settings), RetryPolicyFrom(settings)));
}

RemoteBuilder::RemoteBuilder(SecureChannel channel, v1::BuildSettings settings, RetryPolicy retry)
    : channel_(std::move(channel)),
      stub_(v1::Builder::NewStub(channel_.channel())),
      settings_(std::move(settings)),
      retry_(retry) {}

namespace {

// One call from its first part to its end.
grpc::Status Ask(v1::Builder::StubInterface& stub, grpc::ClientContext& context,
                 const std::vector<v1::BuildRequest>& parts, const std::function<void(absl::string_view)>& on_state,
                 Answer& answer) {
  const auto stream = stub.Build(&context);
  for (const v1::BuildRequest& part : parts) {
    if (!stream->Write(part)) break;
  }
  stream->WritesDone();
  for (v1::BuildResponse response; stream->Read(&response);) {
    answer.reached = true;
    if (response.progress().state() == v1::BuildProgress::WAITING) on_state("waiting for a place");
    if (response.progress().state() == v1::BuildProgress::BUILDING) on_state("building");
    if (response.has_result()) answer.result = response.result();
    if (response.part_case() != v1::BuildResponse::kBundle) continue;
    answer.too_long = answer.bundle.size() + response.bundle().size() > answer.result.built().bundle_bytes();
    if (answer.too_long) {
      context.TryCancel();
      break;
    }
    answer.bundle += response.bundle();
  }
  return stream->Finish();
}

}  // namespace

absl::StatusOr<BuildOutcome> RemoteBuilder::Build(const BuildInput& input, const BuildListener& listener) const {
  if (!input.include_directories.empty()) {
    return OnlyHere(absl::StrCat("-I ", input.include_directories.front()),
                    "put the headers beside the candidate and include them with quotes: then they travel");
  }
  const std::string builder = channel_.service();
  const std::string what =
      input.sources.size() == 1 ? input.sources.front().path() : absl::StrCat(input.sources.size(), " files");
  const auto say = [&](absl::string_view state) {
    listener.on_begin("build", absl::StrCat(what, " for ", settings_.arch(), " at ", builder, ", ", state));
  };
  say("connecting");
  const std::vector<v1::BuildRequest> parts = PartsOf(input, settings_);
  Stopper stopper;
  const CallWatch watch(stopper);
  Backoff backoff(retry_, stopper);
  Answer answer;
  for (bool reached = false;;) {
    answer = Answer();
    const auto context = channel_.NewContext(absl::InfiniteDuration());
    const Stopper::Scope scope(stopper, *context);
    const grpc::Status status = Ask(*stub_, *context, parts, say, answer);
    if (answer.too_long) {
      return Doubtful(builder, absl::InvalidArgumentError("more bytes came than were announced"));
    }
    if (status.ok()) break;
    if (stopper.stopped()) return absl::CancelledError("interrupted");
    const bool busy = status.error_code() == grpc::RESOURCE_EXHAUSTED;
    reached = reached || answer.reached || busy;
    if (answer.reached) backoff.Reset();
    if (!reached || !(busy || WorthRetrying(status))) return Trouble(status, builder);
    say(busy ? "waiting: it is full" : "connection lost, asking again");
    if (!backoff.Wait()) return stopper.stopped() ? absl::CancelledError("interrupted") : Trouble(status, builder);
  }
  if (answer.result.has_failure()) return StatusOf(answer.result.failure(), absl::StrCat("at the builder ", builder));
  if (answer.result.has_verdict()) {
    if (const absl::Status good = CheckBuildVerdict(input, answer.result.verdict()); !good.ok())
      return Doubtful(builder, good);
    listener.on_end("failed", "");
    return BuildOutcome(std::move(*answer.result.mutable_verdict()));
  }
  absl::StatusOr<BuiltBundle> built =
      TakeBundle(input, settings_.arch(), answer.result.built(), std::move(answer.bundle));
  if (!built.ok()) return Doubtful(builder, built.status());
  listener.on_end("passed", BuiltText(*built));
  return BuildOutcome(*std::move(built));
}

absl::StatusOr<v1::GetBuilderResponse> GetBuilder(const Settings& settings, absl::Duration timeout) {
  ASSIGN_OR_RETURN(const SecureChannel channel, OpenChannel(settings));
  v1::GetBuilderResponse response;
  const grpc::Status status =
      v1::Builder::NewStub(channel.channel())->GetBuilder(channel.NewContext(timeout).get(), {}, &response);
  if (!status.ok()) return Trouble(status, channel.service());
  return response;
}

}  // namespace sassay::agent
