#include "agent/models/providers/api_error.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/utf8.h"
#include "common/terminal/text.h"
#include "common/workload/json_text.h"

namespace sassay::agent {
namespace {

constexpr size_t kMaxMessageBytes = 500;
constexpr size_t kMaxWordBytes = 100;
constexpr uint64_t kMaxErrorBytes = 1 << 20;

// Words in lower case.
bool ContainsAny(absl::string_view text, std::initializer_list<absl::string_view> words) {
  const std::string lower = absl::AsciiStrToLower(text);
  return std::any_of(words.begin(), words.end(),
                     [&](absl::string_view word) { return absl::StrContains(lower, word); });
}

// A member as text, whatever it is: codes are numbers here and words there.
std::string Member(const OrderedJson& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null() || found->is_structured()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

int StatusOfType(absl::string_view type) {
  if (type == "overloaded_error") return 529;
  if (type == "rate_limit_error") return 429;
  if (type == "invalid_request_error" || type == "BadRequestError") return 400;
  if (type == "authentication_error") return 401;
  if (type == "permission_error") return 403;
  if (type == "not_found_error") return 404;
  return 500;
}

ApiError FromObject(int status, const OrderedJson& object) {
  ApiError error;
  error.status = status;
  error.type = ShortLine(Member(object, "type"), kMaxWordBytes);
  error.code = ShortLine(Member(object, "code"), kMaxWordBytes);
  error.param = ShortLine(Member(object, "param"), kMaxWordBytes);
  error.message = ShortLine(Member(object, "message"), kMaxMessageBytes);
  if (error.message.empty()) error.message = error.type.empty() ? error.code : error.type;
  return error;
}

// {"error": {…}}, {"error": "text"}, {"detail": "text"} or the members themselves.
ApiError FromDocument(int status, const OrderedJson& document) {
  const auto inner = document.find("error");
  if (inner != document.end() && inner->is_object()) return FromObject(status, *inner);
  ApiError error = FromObject(status, document);
  for (const char* name : {"error", "detail"}) {
    if (error.message.empty()) error.message = ShortLine(Member(document, name), kMaxMessageBytes);
  }
  return error;
}

bool IsTooLong(const ApiError& error) {
  return error.status == 413 || error.code == "context_length_exceeded" ||
         ContainsAny(error.type, {"exceed_context_size"}) ||
         ContainsAny(error.message, {"context length", "context window", "maximum context", "context size",
                                     "prompt is too long", "input is too long", "reduce the length"});
}

bool IsAboutMoney(const ApiError& error) {
  return error.status == 402 || error.code == "insufficient_quota" || error.type == "insufficient_quota" ||
         error.type == "billing_error" || ContainsAny(error.message, {"credit balance", "insufficient credits"});
}

bool IsAboutContent(const ApiError& error) {
  return error.code == "content_filter" || ContainsAny(error.message, {"moderation", "flagged", "content policy"});
}

absl::Status Final(const ApiError& error, const std::string& text) {
  if (error.status == 401) return absl::UnauthenticatedError(text);
  if (IsAboutMoney(error)) return absl::PermissionDeniedError(text);
  if (IsTooLong(error)) return absl::ResourceExhaustedError(text);
  if (IsAboutContent(error)) return absl::InvalidArgumentError(text);
  if (error.status == 403) return absl::PermissionDeniedError(text);
  if (error.status == 404 || error.status == 405 || error.status < 400) return absl::NotFoundError(text);
  return absl::InvalidArgumentError(text);
}

bool IsBusy(int status) { return status == 408 || status == 409 || status == 425 || status == 429 || status >= 502; }

}  // namespace

std::string ShortLine(absl::string_view untrusted, size_t limit) {
  const absl::string_view text = absl::StripAsciiWhitespace(untrusted);
  std::string line = PrintableLine(ToUtf8(text.substr(0, 4 * limit)));
  if (line.size() <= limit) return text.size() > 4 * limit ? line + "…" : line;
  while (limit > 0 && (line[limit] & 0xC0) == 0x80) --limit;
  line.resize(limit);
  return line + "…";
}

ApiError ReadApiError(int status, absl::string_view untrusted_body) {
  const absl::StatusOr<OrderedJson> document = ParseJsonObject(untrusted_body, kMaxErrorBytes);
  ApiError error;
  error.status = status;
  if (document.ok()) error = FromDocument(status, *document);
  if (error.message.empty()) error.message = ShortLine(untrusted_body, 200);
  return error;
}

absl::optional<ApiError> ReadStreamedError(const OrderedJson& event, absl::string_view event_type) {
  const auto inner = event.find("error");
  const bool has_error = event_type == "error" || (inner != event.end() && !inner->is_null());
  if (!has_error && Member(event, "object") != "error" && Member(event, "type") != "error") return absl::nullopt;
  ApiError error = FromDocument(0, event);
  int code = 0;
  const bool has_code = absl::SimpleAtoi(error.code, &code) && code >= 400 && code < 600;
  error.status = has_code ? code : StatusOfType(error.type);
  return error;
}

bool DoesNotKnow(const ApiError& error, absl::string_view field) {
  if (error.status != 400 && error.status != 422) return false;
  if (error.param != field && !absl::StrContains(error.message, field)) return false;
  return error.code == "unsupported_parameter" || error.code == "unknown_parameter" ||
         ContainsAny(error.message, {"unsupported parameter", "not supported", "unrecognized", "unknown", "unexpected",
                                     "extra inputs", "extra fields", "not permitted", "extra_forbidden"});
}

Failure Classify(const ApiError& error, absl::string_view where, absl::optional<absl::Duration> retry_after) {
  const std::string said = error.message.empty() ? "" : absl::StrCat(": ", error.message);
  const std::string text = absl::StrCat(where, ": ", StatusText(error.status), said);
  Failure failure;
  failure.retry_after = retry_after;
  if (IsAboutMoney(error) || (error.status < 500 && !IsBusy(error.status))) {
    failure.status = Final(error, text);
    return failure;
  }
  // llama.cpp and others say so with a 500.
  if (error.status == 500 && IsTooLong(error)) {
    failure.status = absl::ResourceExhaustedError(text);
    return failure;
  }
  failure.kind = IsBusy(error.status) ? Failure::Kind::kBusy : Failure::Kind::kBroken;
  failure.status = absl::UnavailableError(text);
  return failure;
}

std::string StatusText(int status) {
  static constexpr std::pair<int, const char*> kNames[] = {{301, "Moved Permanently"},
                                                           {302, "Found"},
                                                           {307, "Temporary Redirect"},
                                                           {308, "Permanent Redirect"},
                                                           {400, "Bad Request"},
                                                           {401, "Unauthorized"},
                                                           {402, "Payment Required"},
                                                           {403, "Forbidden"},
                                                           {404, "Not Found"},
                                                           {405, "Method Not Allowed"},
                                                           {408, "Request Timeout"},
                                                           {413, "Content Too Large"},
                                                           {422, "Unprocessable Content"},
                                                           {429, "Too Many Requests"},
                                                           {500, "Internal Server Error"},
                                                           {502, "Bad Gateway"},
                                                           {503, "Service Unavailable"},
                                                           {504, "Gateway Timeout"},
                                                           {529, "Overloaded"}};
  for (const auto& [code, name] : kNames) {
    if (code == status) return absl::StrCat(status, " ", name);
  }
  return absl::StrCat("HTTP status ", status);
}

}  // namespace sassay::agent
