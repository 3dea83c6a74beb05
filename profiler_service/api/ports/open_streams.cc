#include "profiler_service/api/ports/open_streams.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace sassay::api {
namespace {

absl::Status Draining() {
  return absl::UnavailableError("the service is stopping; accepted submissions are kept: attach again when it is back");
}

}  // namespace

absl::Status OpenStreams::Add(const std::shared_ptr<OpenStream>& stream, const Caller& caller) {
  absl::MutexLock lock(&mutex_);
  if (draining_) return Draining();
  uint64_t& open = per_tenant_[caller.tenant];
  if (open >= limit_per_tenant_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this tenant has ", open, " open streams; the limit is --max-streams-per-tenant"));
  }
  ++open;
  entries_[stream.get()] = {stream, caller};
  return absl::OkStatus();
}

void OpenStreams::Remove(const OpenStream* stream) {
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(stream);
  if (entry == entries_.end()) return;
  const auto open = per_tenant_.find(entry->second.caller.tenant);
  if (--open->second == 0) per_tenant_.erase(open);
  entries_.erase(entry);
}

std::vector<std::shared_ptr<OpenStream>> OpenStreams::Unless(const std::function<bool(const Caller&)>& keep) const {
  std::vector<std::shared_ptr<OpenStream>> chosen;
  absl::MutexLock lock(&mutex_);
  for (const auto& [stream, entry] : entries_) {
    if (keep(entry.caller)) continue;
    if (std::shared_ptr<OpenStream> alive = entry.stream.lock()) chosen.push_back(std::move(alive));
  }
  return chosen;
}

void OpenStreams::EndUnless(const std::function<bool(const Caller&)>& valid) {
  for (const auto& stream : Unless(valid)) stream->End(absl::UnauthenticatedError("the token was revoked"));
}

void OpenStreams::RefuseNew() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
}

void OpenStreams::EndAll() {
  for (const auto& stream : Unless([](const Caller&) { return false; })) stream->End(Draining());
}

uint64_t OpenStreams::count() const {
  absl::MutexLock lock(&mutex_);
  return entries_.size();
}

}  // namespace sassay::api
