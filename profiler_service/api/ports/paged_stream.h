// A server stream of records that are kept: those from a moment on, then each as it comes, or the end.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_PAGED_STREAM_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_PAGED_STREAM_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "profiler_service/api/ports/managed_stream.h"
#include "profiler_service/queue/bell.h"

namespace sassay::api {

// The reader pulls: one page is in memory, and what comes faster than the client reads waits in the store.
//
// Life cycle: Open (ManagedStream), then Begin or Refuse. Begin is handed how to listen for news and how to read the
// page after a place.
template <typename Message>
class PagedStream : public ManagedStream<grpc::ServerWriteReactor<Message>> {
 public:
  using ManagedStream<grpc::ServerWriteReactor<Message>>::ManagedStream;
  using Page = std::deque<std::pair<uint64_t, Message>>;  // place, record
  using Listen = std::function<std::shared_ptr<queue::Bell::Ear>(std::function<void()> on_ring)>;
  using Fetch = std::function<absl::StatusOr<Page>(uint64_t after)>;

  // What comes after the last record that is kept.
  enum class After { kLiveOnes, kTheEnd };

  // `last` tells the place of the newest record: streams of live ones only go on from there. Empty for all.
  void Begin(const Listen& listen, Fetch fetch, const std::function<absl::StatusOr<uint64_t>()>& last = {},
             After after = After::kLiveOnes) {
    fetch_ = std::move(fetch);
    ends_ = after == After::kTheEnd;
    ear_ = listen([weak = this->weak_from_this()] {
      if (auto self = weak.lock()) static_cast<PagedStream&>(*self).Pump();
    });
    if (last) {
      const absl::StatusOr<uint64_t> newest = last();
      if (!newest.ok()) return this->Close(newest.status());
      after_ = *newest;
    }
    // From here on the client misses nothing, and may know.
    this->StartSendInitialMetadata();
    if (this->Idle()) Pump();
  }
  void Refuse(const absl::Status& status) { this->Close(status); }

  void OnWriteDone(bool ok) override {
    if (!ok) return this->Close(absl::CancelledError("the client went away"));
    if (this->Idle()) Pump();
  }

 private:
  // As EventStream's: whoever finds the stream idle goes on, and every claim is followed by another look.
  void Pump() {
    while (this->Claim()) {
      const std::shared_ptr<queue::Bell::Ear> ear = ear_;
      const uint64_t rings = ear->rings();
      if (page_.empty()) {
        absl::StatusOr<Page> page = fetch_(after_);
        if (!page.ok()) return this->Close(page.status());
        page_ = *std::move(page);
        if (page_.empty() && ends_) return this->Close(absl::OkStatus());
      }
      if (!page_.empty()) {
        after_ = page_.front().first;
        current_ = std::move(page_.front().second);
        page_.pop_front();
        this->StartWrite(&current_);
        return;
      }
      if (!this->Idle() || ear->rings() == rings) return;
    }
  }

  std::shared_ptr<queue::Bell::Ear> ear_;
  Fetch fetch_;
  bool ends_ = false;
  uint64_t after_ = 0;
  Page page_;
  Message current_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_PAGED_STREAM_H_
