// A server that answers with anything, as a stream and whole, in both dialects: what is kept of it is bounded text.
#include <cstdint>
#include <cstdlib>

#include "agent/models/http/sse.h"
#include "agent/models/providers/anthropic.h"
#include "agent/models/providers/openai.h"
#include "agent/models/retry_after.h"
#include "common/base/utf8.h"

namespace sassay::agent {
namespace {

void Check(const AnswerDraft& draft) {
  const v1::Answered& answer = draft.answered;
  for (const std::string& text : {answer.text(), answer.reasoning(), answer.finish_reason(), answer.response_id(),
                                  answer.model(), draft.error ? draft.error->message : ""}) {
    if (FirstInvalidUtf8(text) != absl::string_view::npos) std::abort();
  }
  if (answer.model().size() > 1000 || answer.finish_reason().size() > 1000) std::abort();
}

void Decode(const Dialect& dialect, absl::string_view bytes) {
  AnswerDraft whole;
  dialect.NewDecoder()->TakeWhole(bytes, whole).IgnoreError();
  Check(whole);
  AnswerDraft streamed;
  SseParser parser(1 << 20);
  const auto decoder = dialect.NewDecoder();
  parser
      .Feed(bytes,
            [&](absl::string_view type, absl::string_view data) { return decoder->TakeEvent(type, data, streamed); })
      .IgnoreError();
  Check(streamed);
  if (streamed.error) Classify(*streamed.error, "fuzz", absl::nullopt);
}

}  // namespace
}  // namespace sassay::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sassay::agent;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const auto* const openai = NewOpenAiDialect({"m", false, false}).release();
  static const auto* const anthropic = NewAnthropicDialect("m").release();
  Decode(*openai, bytes);
  Decode(*anthropic, bytes);
  const auto wait = RetryAfter({{"retry-after", std::string(bytes)}}, absl::UnixEpoch());
  if (wait && (*wait < absl::ZeroDuration() || *wait == absl::InfiniteDuration())) std::abort();
  Classify(ReadApiError(400, bytes), "fuzz", wait);
  return 0;
}
