#include <utility>

#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/api/ports/paged_stream.h"
#include "profiler_service/api/ports/streams.h"

namespace sassay::api {
namespace {

using sassay::v1::Event;
using Stream = PagedStream<Event>;

constexpr int kPage = 64;

absl::StatusOr<Stream::Page> ReadPage(store::Store& store, const std::string& tenant, absl::Time from, uint64_t after) {
  ASSIGN_OR_RETURN(std::vector<store::ExcludedEvent> events, store.ExcludedSince(tenant, from, after, kPage));
  Stream::Page page;
  for (store::ExcludedEvent& event : events) page.emplace_back(event.place, std::move(event.event));
  return page;
}

}  // namespace

grpc::ServerWriteReactor<Event>* ServeWatchExclusions(PortContext& port, grpc::CallbackServerContext& context,
                                                      const sassay::v1::WatchExclusionsRequest& request) {
  const auto stream = std::make_shared<Stream>(port, context);
  const absl::StatusOr<Caller> caller = CallerOf(port, context);
  if (!stream->Open(caller)) return stream.get();
  const absl::Time from = request.has_from() ? TimeOf(request.from()) : absl::UnixEpoch();
  std::function<absl::StatusOr<uint64_t>()> last;
  if (!request.has_from()) last = [&port] { return port.store.LastExcluded(); };
  stream->Begin(
      [&port](std::function<void()> on_ring) { return port.queue.OnExclusions(std::move(on_ring)); },
      [&port, tenant = caller->tenant, from](uint64_t after) { return ReadPage(port.store, tenant, from, after); },
      last, request.only_kept() ? Stream::After::kTheEnd : Stream::After::kLiveOnes);
  return stream.get();
}

}  // namespace sassay::api
