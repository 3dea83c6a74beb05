// What a test hears of one HTTP answer.
#ifndef SASSAY_AGENT_MODELS_TESTING_COLLECTOR_H_
#define SASSAY_AGENT_MODELS_TESTING_COLLECTOR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "agent/models/http/http_client.h"

namespace sassay::agent {

// Keeps the answer; the piece that holds `last` completes it.
class Collector : public HttpReceiver {
 public:
  absl::Status OnHead(int status, const HttpHeaders& headers) override {
    status_ = status;
    headers_ = headers;
    return absl::OkStatus();
  }
  absl::StatusOr<Piece> OnBody(absl::string_view bytes) override {
    body_.append(bytes.data(), bytes.size());
    if (!first_.HasBeenNotified()) first_.Notify();
    return !last_.empty() && body_.find(last_) != std::string::npos ? Piece::kComplete : Piece::kProgress;
  }

  int status_ = 0;
  HttpHeaders headers_;
  std::string body_;
  std::string last_;
  absl::Notification first_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_TESTING_COLLECTOR_H_
