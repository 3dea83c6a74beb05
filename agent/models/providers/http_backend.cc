#include "agent/models/providers/http_backend.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/models/estimate.h"
#include "agent/models/http/sse.h"
#include "agent/models/retry_after.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::agent {
namespace {

constexpr size_t kMaxEventBytes = 8 << 20;
constexpr size_t kMaxWholeBytes = 32 << 20;
constexpr size_t kKeptErrorBytes = 64 << 10;
constexpr char kNoKey[] = " (no key was sent: set SASSAY_API_KEY, or name a file with --api-key-file)";
constexpr absl::string_view kThinkBegin = "<think>";
constexpr absl::string_view kThinkEnd = "</think>";

absl::string_view TextOf(const absl::Status& status) {
  return absl::string_view(status.message().data(), status.message().size());
}

// Takes one answer as it comes.
class AnswerReceiver : public HttpReceiver {
 public:
  AnswerReceiver(std::unique_ptr<AnswerDecoder> decoder, const GenerationListener& listener)
      : decoder_(std::move(decoder)), listener_(listener), parser_(kMaxEventBytes) {}

  absl::Status OnHead(int status, const HttpHeaders& headers) override {
    status_ = status;
    headers_ = headers;
    const std::string type = absl::AsciiStrToLower(Header("content-type"));
    if (status != 200) return absl::OkStatus();
    streams_ = absl::StartsWith(type, "text/event-stream");
    if (streams_ || absl::StartsWith(type, "application/json")) return absl::OkStatus();
    is_foreign_ = true;
    return absl::OkStatus();
  }

  absl::StatusOr<Piece> OnBody(absl::string_view bytes) override {
    if (!streams_) return TakeWhole(bytes);
    const uint64_t before = draft_.pieces;
    RETURN_IF_ERROR(parser_.Feed(bytes, [this](absl::string_view type, absl::string_view data) {
      return draft_.error || draft_.ended ? absl::OkStatus() : decoder_->TakeEvent(type, data, draft_);
    }));
    if (draft_.ended || draft_.error) return Piece::kComplete;
    if (draft_.pieces == before) return Piece::kNothing;
    if (before == 0) first_token_ = SteadyNow();
    listener_.on_progress(draft_.answered.text().size(), draft_.answered.reasoning().size());
    return Piece::kProgress;
  }

  // After the end: what is wrong with the answer, if anything.
  absl::optional<Failure> Conclude(const HttpOutcome& outcome, const std::string& where, Dialect& dialect) {
    const absl::optional<absl::Duration> retry_after = RetryAfter(headers_, absl::Now());
    const bool refused = status_ != 0 && status_ != 200 && !absl::IsCancelled(outcome.status);
    if (!outcome.status.ok() && !draft_.finished && !refused) return ConcludeBroken(outcome, where);
    if (refused) return ConcludeError(ReadApiError(status_, body_), where, retry_after, dialect);
    if (is_foreign_) {
      return Broken(absl::StrCat(where, ": the server sent ", ShortLine(Header("content-type"), 60),
                                 " in the place of an answer: ", ShortLine(body_, 120)));
    }
    if (!streams_) {
      if (absl::Status status = decoder_->TakeWhole(body_, draft_); !status.ok()) {
        return Broken(absl::StrCat(where, ": ", TextOf(status)));
      }
    }
    if (draft_.error) return ConcludeError(*draft_.error, where, retry_after, dialect);
    if (!draft_.finished && !draft_.ended)
      return Broken(absl::StrCat(where, ": the stream ended before the answer did"));
    return absl::nullopt;
  }

  AnswerDraft& draft() { return draft_; }
  absl::Time first_token() const { return first_token_; }

 private:
  std::string Header(const std::string& name) const {
    const auto found = headers_.find(name);
    return found == headers_.end() ? "" : found->second;
  }

  absl::StatusOr<Piece> TakeWhole(absl::string_view bytes) {
    const size_t room = status_ == 200 && !is_foreign_ ? kMaxWholeBytes : kKeptErrorBytes;
    const size_t kept = std::min(bytes.size(), room - body_.size());
    if (kept < bytes.size() && room == kMaxWholeBytes) {
      return absl::ResourceExhaustedError(absl::StrCat("the answer is longer than ", room, " bytes"));
    }
    body_.append(bytes.data(), kept);
    if (first_token_ == absl::InfiniteFuture()) first_token_ = SteadyNow();
    // Of what is no answer the beginning says enough; it may have no end.
    return kept < bytes.size() ? Piece::kComplete : Piece::kProgress;
  }

  static Failure Broken(std::string text) { return {Failure::Kind::kBroken, absl::UnavailableError(text), {}}; }

  static Failure ConcludeBroken(const HttpOutcome& outcome, const std::string& where) {
    const std::string text = absl::StrCat(where, ": ", TextOf(outcome.status));
    switch (outcome.status.code()) {
      case absl::StatusCode::kUnavailable:
      case absl::StatusCode::kDeadlineExceeded:
      case absl::StatusCode::kDataLoss:
        return {outcome.sent ? Failure::Kind::kBroken : Failure::Kind::kUnreachable, absl::UnavailableError(text), {}};
      default:
        return {Failure::Kind::kFinal, absl::Status(outcome.status.code(), text), {}};
    }
  }

  Failure ConcludeError(const ApiError& error, const std::string& where, absl::optional<absl::Duration> retry_after,
                        Dialect& dialect) {
    Failure failure = Classify(error, where, retry_after);
    if (failure.kind == Failure::Kind::kFinal && dialect.Adjust(error)) failure.kind = Failure::Kind::kAdjusted;
    if (error.status >= 300 && error.status < 400) {
      failure.status = absl::NotFoundError(absl::StrCat(TextOf(failure.status), ": it is at ",
                                                        ShortLine(Header("location"), 200), " now; set --endpoint"));
    }
    return failure;
  }

  const std::unique_ptr<AnswerDecoder> decoder_;
  const GenerationListener& listener_;
  SseParser parser_;
  int status_ = 0;
  HttpHeaders headers_;
  bool streams_ = false;
  bool is_foreign_ = false;
  std::string body_;
  AnswerDraft draft_;
  absl::Time first_token_ = absl::InfiniteFuture();
};

// Servers without a parser for it leave the reasoning in the text.
void SplitThinking(v1::Answered& answer) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(answer.text());
  if (!answer.reasoning().empty() || !absl::StartsWith(text, kThinkBegin)) return;
  const size_t end = text.find(kThinkEnd);
  const absl::string_view after = end == absl::string_view::npos ? "" : text.substr(end + kThinkEnd.size());
  answer.set_reasoning(std::string(text.substr(
      kThinkBegin.size(), end == absl::string_view::npos ? absl::string_view::npos : end - kThinkBegin.size())));
  answer.set_text(std::string(absl::StripLeadingAsciiWhitespace(after)));
}

// A header's value may hold no line break and no byte beyond ASCII.
std::string HeaderSafe(const std::string& key) {
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7F; });
  return plain && key.size() <= 200 ? key : Sha256Hex(key);
}

void Redact(const Secret& key, v1::Answered& answer) {
  for (std::string* text : {answer.mutable_text(), answer.mutable_reasoning(), answer.mutable_finish_reason(),
                            answer.mutable_response_id(), answer.mutable_model()}) {
    if (!key.empty()) *text = key.Redact(*text);
  }
}

void SetFirstToken(absl::Duration duration, v1::Answered& answer) {
  const timespec time = absl::ToTimespec(duration);
  answer.mutable_first_token()->set_seconds(time.tv_sec);
  answer.mutable_first_token()->set_nanos(static_cast<int32_t>(time.tv_nsec));
}

}  // namespace

HttpBackend::HttpBackend(HttpBackendOptions options, Secret key, std::unique_ptr<Dialect> dialect,
                         std::unique_ptr<HttpClient> client)
    : options_(std::move(options)), key_(std::move(key)), dialect_(std::move(dialect)), client_(std::move(client)) {}

absl::optional<Failure> HttpBackend::Try(const GenerationRequest& request, const GenerationListener& listener,
                                         Stopper& stopper, v1::Answered& answer) {
  const RequestBody body = dialect_->Body(request);
  HttpRequest http;
  http.url = options_.url;
  http.timeouts = options_.timeouts;
  http.body = &body;
  http.headers = dialect_->Headers();
  http.headers.emplace_back("Accept", "text/event-stream, application/json");
  if (!request.idempotency_key.empty()) {
    http.headers.emplace_back("Idempotency-Key", HeaderSafe(request.idempotency_key));
  }
  http.secret = &key_;
  std::tie(http.secret_header, http.secret_prefix) = dialect_->KeyHeader();

  const absl::Time began = SteadyNow();
  AnswerReceiver receiver(dialect_->NewDecoder(), listener);
  const HttpOutcome outcome = client_->Perform(http, receiver, stopper);
  if (absl::optional<Failure> failure = receiver.Conclude(outcome, options_.url, *dialect_)) {
    const bool lacks_key = key_.empty() && absl::IsUnauthenticated(failure->status);
    failure->status = absl::Status(failure->status.code(),
                                   absl::StrCat(key_.Redact(TextOf(failure->status)), lacks_key ? kNoKey : ""));
    return failure;
  }
  AnswerDraft& draft = receiver.draft();
  answer = std::move(draft.answered);
  SplitThinking(answer);
  if (!draft.has_usage) EstimateUsage(request, answer);
  if (answer.finish_reason().empty()) answer.set_finish_reason("stop");
  if (receiver.first_token() != absl::InfiniteFuture()) SetFirstToken(receiver.first_token() - began, answer);
  Redact(key_, answer);
  return absl::nullopt;
}

}  // namespace sassay::agent
