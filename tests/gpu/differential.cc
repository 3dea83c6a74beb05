// Random small kernels on a device, beside the emulator on this machine: every value that differs is printed with the
// seed of its kernel and the instruction that made it. differential.sh makes the cubins and runs this on a GPU.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "profiler_service/device/device.h"
#include "profiler_service/emulator/differential/run.h"

namespace sassay {
namespace {

constexpr char kUsage[] = R"(Random small kernels: drawn from seeds, run on a device, compared with the emulator.

  differential draw --first 0 --count 100 --out 0.ptx                     the module of seeds 0 to 99, for ptxas
  differential run --first 0 --count 100 --cubin 0.cubin                  on the first GPU, against the emulator
  differential run --first 0 --count 100 --device emulated:sm_90a         the emulator alone: digests
)";

struct Options {
  uint64_t first = 0, count = 100, from = 0;
  std::string out = "-", cubin, device = "cuda:0";
  bool raw = false;
};

std::vector<emulator::Case> Cases(const Options& options) {
  std::vector<emulator::Case> cases;
  for (uint64_t seed = options.first; seed < options.first + options.count; ++seed)
    cases.push_back(emulator::Draw(seed));
  return cases;
}

void Print(const emulator::Case& drawn, const std::vector<uint32_t>& expected, const std::vector<uint32_t>& actual) {
  for (const emulator::Disagreement& found : emulator::Compare(drawn, expected, actual)) {
    std::printf("DIFFERS seed %llu slot %zu thread %u: emulator 0x%llx, device 0x%llx: %s\n",
                static_cast<unsigned long long>(drawn.seed), found.index, found.thread,
                static_cast<unsigned long long>(found.expected), static_cast<unsigned long long>(found.actual),
                found.slot->text.c_str());
  }
}

absl::Status Run(const Options& options) {
  const std::vector<emulator::Case> cases = Cases(options);
  v1::Bundle bundle;
  bundle.set_ptx(emulator::Module(cases));
  if (!options.cubin.empty()) {
    ASSIGN_OR_RETURN(*bundle.mutable_cubin(), ReadFile(options.cubin));
  }
  ASSIGN_OR_RETURN(const auto device, device::OpenDevice(options.device, worker::RUN_MODE_PLAIN));
  ASSIGN_OR_RETURN(const auto model, device::OpenDevice("emulated:sm_90a", worker::RUN_MODE_PLAIN));
  RETURN_IF_ERROR(device->LoadModule(bundle));
  RETURN_IF_ERROR(model->LoadModule(bundle));
  for (const emulator::Case& drawn : cases) {
    if (drawn.seed < options.from) continue;
    const auto expected = emulator::RunCase(*model, drawn);
    if (!expected.ok()) {
      std::printf("EMULATOR seed %llu: %s\n", static_cast<unsigned long long>(drawn.seed),
                  expected.status().ToString().c_str());
    }
    const auto actual = emulator::RunCase(*device, drawn);
    if (!actual.ok()) {
      std::printf("DEVICE seed %llu: %s\n", static_cast<unsigned long long>(drawn.seed),
                  actual.status().ToString().c_str());
      if (!device->usable()) return actual.status();
      continue;
    }
    std::printf("%llu %016llx\n", static_cast<unsigned long long>(drawn.seed),
                static_cast<unsigned long long>(emulator::Digest(drawn, *actual)));
    if (expected.ok()) Print(drawn, *expected, *actual);
    if (!options.raw) continue;
    std::printf("RAW %llu", static_cast<unsigned long long>(drawn.seed));
    for (const uint32_t word : *actual) std::printf(" %x", word);
    std::printf("\n");
  }
  return absl::OkStatus();
}

absl::Status DrawModule(const Options& options) {
  const std::string text = emulator::Module(Cases(options));
  if (options.out != "-") return WriteFileAtomically(options.out, text);
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app(kUsage);
  Options options;
  CLI::App& draw = *app.add_subcommand("draw", "write a module's PTX");
  CLI::App& run = *app.add_subcommand("run", "run its kernels");
  app.require_subcommand(1);
  for (CLI::App* command : {&draw, &run}) {
    command->add_option("--first", options.first, "the first seed")->capture_default_str();
    command->add_option("--count", options.count, "how many seeds")->capture_default_str();
  }
  draw.add_option("--out", options.out, "the file to write; - is standard output")->capture_default_str();
  run.add_option("--cubin", options.cubin, "what ptxas made of the module");
  run.add_option("--device", options.device, "cuda:N or emulated:sm_90a")->capture_default_str();
  run.add_option("--from", options.from, "begin at this seed: after one that ended the device's context");
  run.add_flag("--raw", options.raw, "print all words of every output, too");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = draw.parsed() ? DrawModule(options) : Run(options);
  if (!status.ok()) std::fprintf(stderr, "differential: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace sassay

int main(int argc, char** argv) { return sassay::Main(argc, argv); }
