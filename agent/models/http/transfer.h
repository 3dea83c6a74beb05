// One request under way: a curl handle, what feeds it and what takes its answer. Used by http_client.cc alone.
#ifndef SASSAY_AGENT_MODELS_HTTP_TRANSFER_H_
#define SASSAY_AGENT_MODELS_HTTP_TRANSFER_H_

#include <curl/curl.h>

#include <array>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "agent/models/http/http_client.h"

namespace sassay::agent {

// Life cycle: made by the caller's thread, then touched by the loop's thread alone until Finish. Nothing but `done` is
// shared.
class HttpTransfer {
 public:
  HttpTransfer(const HttpRequest& request, const std::string& ca_file, HttpReceiver& receiver);
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  // The loop's own notes: its name, when the loop next looks at its deadline, and where to say that this is too late.
  uint64_t number = 0;
  absl::Time next_look;
  std::vector<HttpTransfer*>* hurried = nullptr;

  CURL* handle() const { return handle_.get(); }
  // When to give up, by SteadyNow; moves as pieces arrive.
  absl::Time deadline() const { return deadline_; }
  // What it means that the deadline has passed.
  absl::Status AtDeadline() const;
  // Ends it: `code` as curl says, unless the receiver or `because` know better. Wakes the caller.
  void Finish(CURLcode code, const absl::Status& because = absl::OkStatus());
  // Blocks the caller.
  HttpOutcome Await();

 private:
  // Wipes what held the secret before curl's list is freed.
  struct FreeHeaders {
    void operator()(curl_slist* list) const;
  };

  void AddHeaders(const HttpRequest& request);
  void SetOptions(const HttpRequest& request, const std::string& ca_file);
  absl::Status StatusOf(CURLcode code) const;
  size_t TakeHeaderLine(absl::string_view line);
  size_t TakeBody(absl::string_view bytes);
  size_t Fail(absl::Status status);
  void GiveUpAfter(absl::Duration duration);

  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnBody(char* data, size_t size, size_t count, void* self);
  static size_t OnRead(char* data, size_t size, size_t count, void* self);
  static int OnSeek(void* self, curl_off_t offset, int origin);

  const HttpTimeouts timeouts_;
  HttpReceiver& receiver_;
  std::unique_ptr<CURL, void (*)(CURL*)> handle_;
  std::unique_ptr<curl_slist, FreeHeaders> headers_;
  RequestBody no_body_;
  RequestBody::Reader body_;
  std::array<char, CURL_ERROR_SIZE> error_text_ = {};
  HttpHeaders received_;
  size_t header_bytes_ = 0;
  bool head_given_ = false;
  bool begun_ = false;
  bool complete_ = false;
  absl::Status receiver_status_;
  absl::Time deadline_;
  HttpOutcome outcome_;
  absl::Notification done_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_HTTP_TRANSFER_H_
