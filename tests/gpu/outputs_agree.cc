// What two devices make of the same inputs: a candidate's outputs on a GPU beside those on the emulator, element by
// element, without judge, sandbox or service. outputs_agree.sh makes the bundles and runs this on a GPU.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/workload/catalog.h"
#include "profiler_service/device/device.h"
#include "profiler_service/judge/numerics/element.h"
#include "profiler_service/judge/workload_state.h"
#include "profiler_service/runner/replay.h"

namespace sassay {
namespace {

constexpr char kUsage[] =
    R"(Runs bundles on two devices with the same inputs and compares every output, element by element.

  outputs_agree gemm.bundle                                        cuda:0 against emulated:sm_90a, normal inputs, seed 1
  outputs_agree copies.bundle --definitions tests/gpu/outputs      a workload of one's own
  outputs_agree gemm.bundle --distribution integers --seed 7 --ulp 0

Of each output it prints how many elements there are, how many differ, how many by more than --ulp steps of their type,
the largest difference in such steps with both values, and the root mean square of all differences over that of the
values. Integers must be equal. Exit status 1 if anything is beyond --ulp.)";

struct Flags {
  std::vector<std::string> bundles, distributions = {"normal"};
  std::vector<std::filesystem::path> definitions;
  std::string device = "cuda:0", against = "emulated:sm_90a";
  uint64_t seed = 1;
  double ulp = 1, minutes = 8;
  bool checked = false;
};

using Contents = std::map<std::string, std::string>;  // of tensors, by name

// Every tensor of `plan` in an object of its own: inputs as `inputs` has them, outputs poisoned by `seed`.
class Tensors {
 public:
  absl::Status Make(device::Device& device, runner::Replay& replay, const v1::LaunchPlan& plan, const Contents& inputs,
                    uint64_t seed) {
    std::vector<worker::SharedRegion> regions;
    std::vector<UniqueFd> descriptors;
    for (int i = 0; i < plan.buffers_size(); ++i) {
      const v1::Buffer& buffer = plan.buffers(i);
      const bool input = buffer.kind() == v1::BUFFER_KIND_INPUT;
      if (!input && buffer.kind() != v1::BUFFER_KIND_OUTPUT) continue;
      ASSIGN_OR_RETURN(device::SharedMemory memory, device.AllocateShared(buffer.size_bytes()));
      if (input) {
        RETURN_IF_ERROR(device.Write(memory.address, inputs.at(buffer.name())));
      } else {
        RETURN_IF_ERROR(device.Poison(memory.address, buffer.size_bytes(), seed));
        outputs_[buffer.name()] = {memory.address, buffer.size_bytes()};
      }
      worker::SharedRegion& region = regions.emplace_back();
      region.set_buffer(static_cast<uint32_t>(i));
      region.set_memory(static_cast<uint32_t>(descriptors.size()));
      region.set_object_bytes(memory.object_bytes);
      region.set_size_bytes(buffer.size_bytes());
      descriptors.push_back(std::move(memory.fd));
    }
    return replay.Bind(regions, descriptors);
  }

  absl::StatusOr<Contents> Read(device::Device& device) const {
    Contents all;
    for (const auto& [name, place] : outputs_) {
      std::string& output = all[name];
      output.resize(place.second);
      RETURN_IF_ERROR(device.Read(absl::MakeSpan(output.data(), output.size()), place.first));
    }
    return all;
  }

 private:
  std::map<std::string, std::pair<device::DeviceAddress, uint64_t>> outputs_;
};

absl::Status Ended(const absl::StatusOr<device::Execution>& execution) {
  RETURN_IF_ERROR(execution.status());
  if (execution->outcome == worker::RUN_OUTCOME_OK) return absl::OkStatus();
  return absl::AbortedError(execution->message);
}

absl::StatusOr<Contents> Outputs(const std::string& name, worker::RunMode mode, const v1::Bundle& bundle,
                                 const Contents& inputs, absl::Duration patience, uint64_t poison_seed) {
  ASSIGN_OR_RETURN(const std::unique_ptr<device::Device> device, device::OpenDevice(name, mode));
  runner::Replay replay(*device, mode);
  Tensors tensors;
  RETURN_IF_ERROR(replay.Load(bundle));
  RETURN_IF_ERROR(tensors.Make(*device, replay, bundle.plans(0), inputs, poison_seed));
  RETURN_IF_ERROR(Ended(replay.Setup(poison_seed, SteadyNow() + patience)));
  RETURN_IF_ERROR(Ended(replay.Steady(poison_seed, SteadyNow() + patience)));
  return tensors.Read(*device);
}

struct Difference {
  int64_t elements = 0, differing = 0, beyond = 0;
  double largest = 0;  // in steps of the type between its neighbouring numbers
  double expected = 0, actual = 0;
  double squares = 0, of = 0;
};

// How many steps `actual` is from `expected`: 0 for two NaN, infinity for one.
double Steps(v1::DType dtype, double expected, double actual) {
  if (expected == actual || (std::isnan(expected) && std::isnan(actual))) return 0;
  const double apart = std::fabs(expected - actual), ulp = judge::UlpAt(dtype, expected);
  if (!std::isfinite(apart)) return std::numeric_limits<double>::infinity();
  return ulp > 0 ? apart / ulp : apart;
}

Difference Compare(const v1::TensorSpec& spec, const std::string& expected, const std::string& actual, double ulp) {
  const std::vector<double> wanted = judge::DecodeDoubles(spec.dtype(), expected),
                            got = judge::DecodeDoubles(spec.dtype(), actual);
  const double allowed = judge::IsFloating(spec.dtype()) ? ulp : 0;
  Difference difference;
  difference.elements = static_cast<int64_t>(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double steps = Steps(spec.dtype(), wanted[i], got[i]);
    if (std::isfinite(wanted[i])) difference.of += wanted[i] * wanted[i];
    if (steps == 0) continue;
    ++difference.differing;
    difference.beyond += steps > allowed;
    if (std::isfinite(steps)) difference.squares += (wanted[i] - got[i]) * (wanted[i] - got[i]);
    if (steps > difference.largest) {
      difference.largest = steps;
      difference.expected = wanted[i], difference.actual = got[i];
    }
  }
  return difference;
}

class Agreement {
 public:
  Agreement(const Flags& flags, const WorkloadCatalog& catalog) : flags_(flags), catalog_(catalog) {}

  absl::Status Check(const std::string& file) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
    v1::Bundle bundle;
    if (!bundle.ParseFromString(bytes)) return absl::InvalidArgumentError(absl::StrCat(file, " is no bundle"));
    for (const v1::LaunchPlan& plan : bundle.plans()) {
      v1::Bundle one = bundle;
      one.clear_plans();
      *one.add_plans() = plan;
      for (const std::string& distribution : flags_.distributions) {
        RETURN_IF_ERROR(CheckPlan(std::filesystem::path(file).stem().string(), one, distribution));
      }
    }
    return absl::OkStatus();
  }
  bool agrees() const { return agrees_; }

 private:
  absl::Status CheckPlan(const std::string& name, const v1::Bundle& bundle, const std::string& distribution) {
    ASSIGN_OR_RETURN(const v1::Workload workload, catalog_.Resolve(bundle.plans(0).workload()));
    judge::StateOptions options;
    options.catalog = &catalog_;
    options.threads = static_cast<int>(std::thread::hardware_concurrency());
    options.reference_limit_seconds = std::numeric_limits<double>::infinity();
    ASSIGN_OR_RETURN(const auto state, judge::WorkloadState::Create(workload, flags_.seed, distribution, options));
    Contents inputs;
    for (int i = 0; i < workload.inputs_size(); ++i) inputs[workload.inputs(i).name()] = state->inputs()[i];
    const absl::Duration patience = absl::Minutes(flags_.minutes);
    const auto mode = flags_.checked ? worker::RUN_MODE_CHECKED : worker::RUN_MODE_PLAIN;
    // Poisoned differently, so that an element that nobody writes is no agreement.
    const absl::Time start = SteadyNow();
    ASSIGN_OR_RETURN(const Contents expected,
                     Outputs(flags_.device, worker::RUN_MODE_PLAIN, bundle, inputs, patience, 1));
    const absl::Time between = SteadyNow();
    const std::clock_t cpu = std::clock();
    ASSIGN_OR_RETURN(const Contents actual, Outputs(flags_.against, mode, bundle, inputs, patience, 2));
    std::fprintf(stderr, "%s: %s took %.2f s, %s %.2f s (%.2f s of CPU)\n", name.c_str(), flags_.device.c_str(),
                 absl::ToDoubleSeconds(between - start), flags_.against.c_str(),
                 absl::ToDoubleSeconds(SteadyNow() - between),
                 static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
    for (const v1::TensorSpec& spec : workload.outputs()) {
      const Difference found = Compare(spec, expected.at(spec.name()), actual.at(spec.name()), flags_.ulp);
      Print(absl::StrCat(name, "\t", workload.name(), "\t", distribution, "\t", spec.name()), spec, found);
      agrees_ = agrees_ && found.beyond == 0;
    }
    return absl::OkStatus();
  }

  void Print(const std::string& where, const v1::TensorSpec& spec, const Difference& found) const {
    std::string type = v1::DType_Name(spec.dtype());
    type = type.substr(type.find('_') + 1);
    std::printf("%s\t%s\t%lld\t%lld\t%lld\t%.4g (%.9g, %.9g)\t%.2e\t%s\n", where.c_str(), type.c_str(),
                static_cast<long long>(found.elements), static_cast<long long>(found.differing),
                static_cast<long long>(found.beyond), found.largest, found.expected, found.actual,
                found.of > 0 ? std::sqrt(found.squares / found.of) : 0.0,
                found.differing == 0 ? "EQUAL"
                : found.beyond == 0  ? "AGREES"
                                     : "DIFFERS");
    std::fflush(stdout);
  }

  const Flags& flags_;
  const WorkloadCatalog& catalog_;
  bool agrees_ = true;
};

absl::StatusOr<bool> Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const WorkloadCatalog catalog, WorkloadCatalog::Load(flags.definitions));
  Agreement agreement(flags, catalog);
  std::printf(
      "bundle\tworkload\tinputs\toutput\ttype\telements\tdiffer\tbeyond\tlargest (device, emulator)\tof rms\t\n");
  for (const std::string& bundle : flags.bundles) RETURN_IF_ERROR(agreement.Check(bundle));
  return agreement.agrees();
}

int Main(int argc, char** argv) {
  CLI::App app(kUsage);
  Flags flags;
  app.add_option("bundles", flags.bundles, "bundles; every plan in them is run")->required();
  app.add_option("--device", flags.device, "what the outputs are compared with")->capture_default_str();
  app.add_option("--against", flags.against, "whose outputs are compared")->capture_default_str();
  app.add_option("--definitions", flags.definitions, "folders of workload definitions");
  app.add_option("--distribution", flags.distributions, "of the inputs")->delimiter(',')->capture_default_str();
  app.add_option("--seed", flags.seed, "of the inputs")->capture_default_str();
  app.add_option("--ulp", flags.ulp, "how many steps of its type an element may be off")->capture_default_str();
  app.add_flag("--checked", flags.checked, "the emulator looks for races and wild accesses, too; a finding ends it");
  app.add_option("--minutes", flags.minutes, "how long one run may take")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<bool> agrees = Run(flags);
  if (!agrees.ok()) std::fprintf(stderr, "outputs_agree: %s\n", agrees.status().ToString().c_str());
  return agrees.ok() && *agrees ? 0 : 1;
}

}  // namespace
}  // namespace sassay

int main(int argc, char** argv) { return sassay::Main(argc, argv); }
