#include "profiler_service/cluster/front_ends.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/jitter.h"
#include "spdlog/spdlog.h"

namespace sassay::cluster {
namespace {

constexpr absl::Duration kFirstWait = absl::Milliseconds(50);
constexpr absl::Duration kLongestWait = absl::Seconds(2);

// What the connection says, or a front end that cannot at present; not its answer.
bool WasNotAnswered(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::UNAVAILABLE:
    case grpc::DEADLINE_EXCEEDED:
    case grpc::CANCELLED:
    case grpc::UNKNOWN:
    case grpc::INTERNAL:
      return true;
    default:
      return false;
  }
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// The channel's own words name the agent's flags.
absl::Status InOurWords(const absl::Status& status) {
  return absl::Status(status.code(), absl::StrReplaceAll(status.message(), {{"--service", "--join"},
                                                                            {"--token-file", "--join-token-file"},
                                                                            {"--ca-file", "--join-ca-file"},
                                                                            {"--cert-file", "--join-cert-file"},
                                                                            {"--key-file", "--join-key-file"}}));
}

// What changes when a file is replaced or written to; empty where it is not there.
std::string LookOf(const std::string& file) {
  struct stat info;
  if (file.empty() || stat(file.c_str(), &info) != 0) return "";
  return absl::StrCat(info.st_dev, "/", info.st_ino, "/", info.st_size, "/", info.st_mtim.tv_sec, ".",
                      info.st_mtim.tv_nsec);
}

}  // namespace

FrontEnds::FrontEnds(FrontEndOptions options, std::vector<Address> addresses, std::string token_file_seen)
    : options_(std::move(options)),
      addresses_(std::move(addresses)),
      credentials_(addresses_.front().channel),
      token_file_seen_(std::move(token_file_seen)) {}

std::unique_ptr<grpc::ClientContext> FrontEnds::NewContext(absl::Duration timeout) {
  const std::string look = LookOf(options_.connection.token_file);
  absl::MutexLock lock(&mutex_);
  if (look != token_file_seen_ && !look.empty()) {
    token_file_seen_ = look;
    ConnectionOptions connection = options_.connection;
    connection.service = addresses_.front().channel.service();
    absl::StatusOr<SecureChannel> fresh = SecureChannel::Open(connection);
    if (fresh.ok()) {
      credentials_ = *std::move(fresh);
      spdlog::info("--join-token-file has changed; its token is used from now on");
    } else {
      spdlog::warn("the former token stays in use: {}", std::string(InOurWords(fresh.status()).message()));
    }
  }
  return credentials_.NewContext(timeout);
}

absl::StatusOr<std::unique_ptr<FrontEnds>> FrontEnds::Open(FrontEndOptions options) {
  if (options.addresses.empty()) return absl::InvalidArgumentError("--join: expected HOST:PORT of a front end");
  std::vector<Address> addresses;
  std::string token_file_seen = LookOf(options.connection.token_file);
  for (const std::string& address : options.addresses) {
    ConnectionOptions connection = options.connection;
    connection.service = address;
    absl::StatusOr<SecureChannel> channel = SecureChannel::Open(connection);
    if (!channel.ok()) return InOurWords(channel.status());
    auto stub = sassay::v1::Cluster::NewStub(channel->channel());
    addresses.push_back({*std::move(channel), std::move(stub)});
  }
  return std::unique_ptr<FrontEnds>(
      new FrontEnds(std::move(options), std::move(addresses), std::move(token_file_seen)));
}

size_t FrontEnds::current() const {
  absl::MutexLock lock(&mutex_);
  return current_;
}

void FrontEnds::TurnFrom(size_t from) {
  absl::MutexLock lock(&mutex_);
  if (current_ != from) return;
  ++current_;
  if (stream_ != nullptr) stream_->TryCancel();
}

void FrontEnds::EndStream() {
  absl::MutexLock lock(&mutex_);
  stream_ended_ = true;
  if (stream_ != nullptr) stream_->TryCancel();
}

grpc::Status FrontEnds::TryAt(size_t address, const Try& attempt, bool again) {
  const Address& at = addresses_[address % addresses_.size()];
  const std::unique_ptr<grpc::ClientContext> context = NewContext(options_.call_timeout);
  return attempt(*at.stub, *context, again);
}

absl::Status FrontEnds::NobodyAnswered(size_t address, const grpc::Status& last) const {
  return absl::UnavailableError(absl::StrCat("no front end answered; the last one asked was ",
                                             addresses_[address % addresses_.size()].channel.service(), ": ",
                                             PlainCause(last)));
}

absl::Status FrontEnds::Insist(absl::Time until, const Try& attempt, IfUnknown if_unknown) {
  absl::Duration wait = kFirstWait;
  for (bool again = false;; again = true) {
    const size_t address = current();
    const grpc::Status status = TryAt(address, attempt, again);
    if (status.ok()) return absl::OkStatus();
    if (status.error_code() == grpc::NOT_FOUND && if_unknown == IfUnknown::kRegister) {
      if_unknown = IfUnknown::kGiveUp;
      RETURN_IF_ERROR(Register(until).status());
      continue;
    }
    if (!WasNotAnswered(status)) return FromGrpc(status);
    TurnFrom(address);
    const absl::Duration left = until - SteadyNow();
    if (left <= absl::ZeroDuration() || !Sleep(std::min(left, WithJitter(wait)))) {
      return NobodyAnswered(address, status);
    }
    wait = std::min(wait * 2, kLongestWait);
  }
}

absl::StatusOr<sassay::v1::RegisterResponse> FrontEnds::Register(absl::Time until) {
  sassay::v1::RegisterRequest request;
  *request.mutable_node() = options_.node;
  *request.mutable_facts() = options_.facts;
  request.set_predecessor(options_.predecessor);
  sassay::v1::RegisterResponse response;
  const auto attempt = [&](Stub& stub, grpc::ClientContext& context, bool) {
    SetTimestamp(options_.now(), *request.mutable_now());
    return stub.Register(&context, request, &response);
  };
  RETURN_IF_ERROR(Insist(until, attempt, IfUnknown::kGiveUp));
  return response;
}

grpc::Status FrontEnds::Stream(const std::function<grpc::Status(Stub&, grpc::ClientContext&)>& read) {
  const size_t address = current();
  const Address& at = addresses_[address % addresses_.size()];
  const std::unique_ptr<grpc::ClientContext> context = NewContext(absl::InfiniteDuration());
  const Stopper::Scope scope(stopper_, *context);
  {
    absl::MutexLock lock(&mutex_);
    if (current_ != address || stream_ended_) return grpc::Status(grpc::CANCELLED, "turned to another front end");
    stream_ = context.get();
  }
  const grpc::Status status = read(*at.stub, *context);
  {
    absl::MutexLock lock(&mutex_);
    stream_ = nullptr;
  }
  if (!status.ok() && WasNotAnswered(status)) TurnFrom(address);
  return status;
}

}  // namespace sassay::cluster
