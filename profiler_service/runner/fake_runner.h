// For tests alone: how to use fake_runner, the runner without a GPU.
#ifndef SASSAY_PROFILER_SERVICE_RUNNER_FAKE_RUNNER_H_
#define SASSAY_PROFILER_SERVICE_RUNNER_FAKE_RUNNER_H_

#include <cstdlib>
#include <string>

#include "google/protobuf/text_format.h"
#include "profiler_service/wire/runner_pool.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay::runner {

// Runners of fake_runner; sandboxed where the machine can.
inline wire::RunnerPoolOptions FakeRunnerOptions() {
  wire::RunnerPoolOptions options;
  const char* bin = std::getenv("SASSAY_TEST_BIN");
  options.runner_program = std::string(bin == nullptr ? "build/dev/bin" : bin) + "/../tests/fake_runner";
  options.allow_unsandboxed = AllowUnsandboxed{"test"};
  return options;
}

// A bundle whose steady step launches one of fake_runner's kernels ("good", "fails", "never_ends", "crashes" …).
inline v1::Bundle BundleLaunching(const std::string& kernel) {
  v1::Bundle bundle;
  google::protobuf::TextFormat::ParseFromString("plans { workload: 'w' steady { launch { kernel: '" + kernel +
                                                    "' grid { x: 1 y: 1 z: 1 } block { x: 1 y: 1 z: 1 } } } }",
                                                &bundle);
  return bundle;
}

}  // namespace sassay::runner

#endif  // SASSAY_PROFILER_SERVICE_RUNNER_FAKE_RUNNER_H_
