#include "profiler_service/api/ports/control_port.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sassay::api {
namespace {

constexpr size_t kMaxTextBytes = 1000;

absl::Status AdminsOnly(const Caller& caller) {
  if (caller.role == Role::kAdmin) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("Control is for admins; the token of '", caller.tenant,
                   "' has the role tenant (profiler-service token add NAME --role admin)"));
}

}  // namespace

std::string ShortText(const std::string& text) { return ToUtf8(text.substr(0, kMaxTextBytes)); }

absl::optional<std::string> ControlPort::NoteOfRefusal(const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  uint64_t& suppressed = suppressed_[tenant];
  if (!port_.refusals.Allow(tenant)) {
    ++suppressed;
    return absl::nullopt;
  }
  const uint64_t before = std::exchange(suppressed, 0);
  return before == 0 ? "" : absl::StrCat(" (", before, " refusals before this one were not written down)");
}

absl::Status ControlPort::Audited(const absl::StatusOr<Caller>& caller, const Action& action) {
  RETURN_IF_ERROR(caller.status());
  absl::Status outcome = AdminsOnly(*caller);
  std::string note;
  if (!outcome.ok()) {
    const absl::optional<std::string> written = NoteOfRefusal(caller->tenant);
    if (!written.has_value()) return outcome;
    note = *written;
  } else {
    outcome = action.act(*caller);
  }
  if (outcome.ok() && action.effect == Effect::kReads) return outcome;
  RETURN_IF_ERROR(port_.store.Audit({0, absl::Now(), caller->tenant, action.name, ShortText(action.target),
                                     absl::StatusCodeToString(outcome.code()), ShortText(action.detail) + note}));
  return outcome;
}

grpc::ServerUnaryReactor* ControlPort::Act(grpc::CallbackServerContext& context, Action action) {
  return ActOn(port_.control_pool, context, std::move(action));
}

grpc::ServerUnaryReactor* ControlPort::ActOn(IoPool& pool, grpc::CallbackServerContext& context, Action action) {
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  pool.Post("", [this, reactor, caller = CallerOf(port_, context), action = std::move(action)] {
    reactor->Finish(ToGrpc(port_, Audited(caller, action)));
  });
  return reactor;
}

absl::Status ControlPort::CheckOneGpu(const std::string& uuid) const {
  if (uuid.empty()) return absl::InvalidArgumentError("uuid: expected a GPU; ListGpus names them");
  return parts_.holds.CheckGpu(uuid);
}

}  // namespace sassay::api
