// Five hundred answers under way at once, from a server in a process of its own, so that the memory seen is the
// client's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/models/http/http_client.h"
#include "agent/models/providers/http_backend.h"
#include "agent/models/providers/openai.h"
#include "agent/models/retrying_model.h"
#include "common/base/steady_time.h"
#include "common/process/subprocess.h"

namespace sassay::agent {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(SASSAY_SANITIZE_THREAD)
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif
constexpr int kStreams = 500;
constexpr size_t kPromptBytes = 200'000;
constexpr size_t kAnswerBytes = 20'000;

// The program scripted-model-server, ended with this object.
class ServerProcess {
 public:
  explicit ServerProcess(const std::vector<std::string>& flags) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) abort();
    const UniqueFd child_in(in[0]), child_out(out[1]);
    stdin_.reset(in[1]);
    stdout_.reset(out[0]);
    Command command;
    command.argv = {absl::StrCat(getenv("SASSAY_TEST_BIN"), "/../tests/scripted-model-server")};
    command.argv.insert(command.argv.end(), flags.begin(), flags.end());
    command.inherit_fds = {{child_in.get(), 0}, {child_out.get(), 1}, {2, 2}};
    process_ = std::make_unique<Subprocess>(*Subprocess::Start(command));
  }

  int ReadPort() {
    std::string line;
    for (char c; read(stdout_.get(), &c, 1) == 1 && c != '\n';) line += c;
    int port = 0;
    return absl::SimpleAtoi(line.substr(line.find(' ') + 1), &port) ? port : 0;
  }

 private:
  UniqueFd stdin_, stdout_;
  std::unique_ptr<Subprocess> process_;
};

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(ManyStreamsTest, FiveHundredAnswersCostLittleMemory) {
  ServerProcess server({"--text", std::string(kAnswerBytes, 'x'), "--first-token", "3", "--generation", "2"});
  const int port = server.ReadPort();
  ASSERT_GT(port, 0);
  HttpBackendOptions options;
  options.url = absl::StrCat("http://127.0.0.1:", port, "/v1/chat/completions");
  RetryingModel model(
      std::make_unique<HttpBackend>(options, Secret(), NewOpenAiDialect({"m", false, false}), *HttpClient::Create({})),
      {}, 0);
  GenerationRequest request;
  request.messages = {{ChatMessage::Role::kUser, std::make_shared<std::string>(kPromptBytes, 'p')}};
  Stopper stopper;
  std::atomic<int> good = 0;
  std::atomic<uint64_t> most = 0;
  GenerationListener listener;
  listener.on_progress = [&](uint64_t text, uint64_t) {
    if (text > kAnswerBytes / 2) most = std::max<uint64_t>(most, ResidentBytes());
  };
  const uint64_t before = ResidentBytes();
  std::vector<std::thread> callers;
  for (int i = 0; i < kStreams; ++i) {
    callers.emplace_back([&, i] {
      GenerationRequest own = request;
      own.idempotency_key = absl::StrCat("run/exp_", i, "/0");
      const auto answer = model.Generate(own, listener, stopper);
      EXPECT_TRUE(answer.ok()) << answer.status();
      good += answer.ok() && answer->text().size() == kAnswerBytes && answer->retries() == 0;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, kStreams);
  const double mebibytes = static_cast<double>(most - before) / (1 << 20);
  std::printf("%d streams: %.0f MiB\n", kStreams, mebibytes);
  if (kInstrumented) GTEST_SKIP() << "memory is the sanitizer's here";
  EXPECT_LT(mebibytes, 100) << "the prompts alone would be " << kStreams * kPromptBytes / (1 << 20) << " MiB";
}

}  // namespace
}  // namespace sassay::agent
