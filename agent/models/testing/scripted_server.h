// A language model's HTTP server that does as it is told, for tests: a real server on loopback that speaks OpenAI's
// chat completions and Anthropic's messages, and breaks where the test says.
#ifndef SASSAY_AGENT_MODELS_TESTING_SCRIPTED_SERVER_H_
#define SASSAY_AGENT_MODELS_TESTING_SCRIPTED_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {

// A request for an answer.
struct AnswerRequest {
  enum class Wire { kOpenAi, kAnthropic };
  Wire wire = Wire::kOpenAi;
  std::string path;
  // Names in lower case.
  std::map<std::string, std::string> headers;
  nlohmann::json body;
  std::string idempotency_key;
  // Of a key such as "RUN_ID/exp_000/3"; else empty and 0.
  std::string trajectory_id;
  uint32_t turn = 0;
  // Requests with this key (with none, if it is empty) before this one.
  uint32_t attempt = 0;
};

// What goes wrong.
enum class ServerFault {
  kNone,
  // `status`, with `headers` and `error_body`.
  kHttpError,
  // The connection is closed in the middle of the stream.
  kCutStream,
  // The stream ends in good order, without its last events.
  kEndsEarly,
  // Nothing more comes in the middle of the stream.
  kStall,
  // Nothing comes at all.
  kSilence,
  // Bytes that are no JSON in the middle of the stream.
  kNonsense,
  // Bytes that are no HTTP.
  kNotHttp,
  // A page for people, with status 200.
  kWrongContentType,
  // An event that tells an error in the middle of the stream.
  kErrorEvent,
  // An HTTP error whose body does not end.
  kEndlessError,
  // The connection is closed before a byte is sent.
  kHangUp,
};

// What the server says.
struct ScriptedAnswer {
  std::string text;
  std::string reasoning;
  // In OpenAI's words: "stop", "length", "content_filter".
  std::string finish_reason = "stop";
  ServerFault fault = ServerFault::kNone;
  int status = 500;
  std::map<std::string, std::string> headers;
  // Empty: one that fits the status.
  std::string error_body;
  // Sent as usage; 0 prompt tokens: no usage is sent.
  uint64_t prompt_tokens = 1000;
  uint64_t cached_prompt_tokens = 0;
  // Anthropic's wire alone.
  uint64_t cache_written_prompt_tokens = 0;
  uint64_t completion_tokens = 100;
  uint64_t reasoning_tokens = 0;
  // OpenAI's wire: name of the reasoning field.
  std::string reasoning_field = "reasoning_content";
  // Answers in one piece though a stream was asked for.
  bool whole = false;
  // Before the first piece, and spread over the pieces.
  absl::Duration before_first;
  absl::Duration duration;
  size_t piece_bytes = 64;
};

// Decides each answer; called from many threads at once.
using Script = std::function<ScriptedAnswer(const AnswerRequest&)>;

// How often a turn was asked for, by idempotency key.
struct KeyCount {
  uint32_t requests = 0;
  // Answers that were generated and sent to their end.
  uint32_t generated = 0;
  // Answers that were given again without generating them.
  uint32_t from_memory = 0;
};

struct ScriptedServerOptions {
  // If set, a request with another key is answered 401.
  std::string api_key;
  // A key whose answer was generated to its end gets the same one again, at once and without fault.
  bool remembers = true;
  // Requests keeps the messages, too; without it a test of many long conversations does not fill the memory.
  bool keeps_bodies = true;
  // PEM files; both empty: plain text.
  std::string certificate_file;
  std::string private_key_file;
};

// The server. GET /v1/models lists one model, "scripted"; GET /counts gives Counts as JSON.
//
// Life cycle: listens on a free port of 127.0.0.1 from Start until destruction, which closes every connection. Threads:
// one for each connection; thread-safe.
class ScriptedServer {
 public:
  static absl::StatusOr<std::unique_ptr<ScriptedServer>> Start(Script script, ScriptedServerOptions options = {});
  virtual ~ScriptedServer() = default;

  virtual int port() const = 0;
  // "http://127.0.0.1:PORT".
  virtual std::string url() const = 0;
  virtual std::map<std::string, KeyCount> Counts() const = 0;
  // Every request for an answer so far, in order.
  virtual std::vector<AnswerRequest> Requests() const = 0;
  // Connections that were made so far.
  virtual uint32_t Connections() const = 0;
  // Most answers under way at one time.
  virtual uint32_t MostAtOnce() const = 0;
  // Waits until `count` requests for answers have come; false after `timeout`.
  virtual bool AwaitRequests(size_t count, absl::Duration timeout = absl::Seconds(30)) const = 0;
};

// Wraps a script: `share` of the first three attempts of each key break, each in a way that the seed, the key and the
// attempt decide; later attempts never do.
Script WithRandomFaults(Script script, uint64_t seed, double share);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_TESTING_SCRIPTED_SERVER_H_
