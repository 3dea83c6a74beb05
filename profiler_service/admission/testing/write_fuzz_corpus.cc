// write_fuzz_corpus ROOT TINY.cubin TINY.ptx: writes the seed corpora that are made of protobuf messages. Called by
// make_fuzz_corpus.sh, which says how and when.
#include <filesystem>
#include <iostream>

#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "profiler_service/admission/testing/example_bundle.h"

namespace sassay::admission {
namespace {

namespace fs = std::filesystem;

// A bundle of a few kilobytes: one kernel `k(float*)`, launched once on the output.
v1::Bundle TinyBundle(const std::string& cubin, const std::string& ptx) {
  v1::Bundle bundle = ExampleBundle();
  bundle.set_cubin(cubin);
  bundle.set_ptx(ptx);
  v1::LaunchPlan& plan = *bundle.mutable_plans(0);
  plan.clear_tensor_maps();
  plan.clear_setup();
  plan.mutable_buffers()->RemoveLast();
  v1::Step launch = plan.steady(3);
  plan.clear_steady();
  launch.mutable_launch()->set_kernel("k");
  launch.mutable_launch()->mutable_arguments()->DeleteSubrange(1, 3);
  *plan.add_steady() = launch;
  return bundle;
}

absl::Status Write(const fs::path& root, const std::string& cubin_path, const std::string& ptx_path) {
  ASSIGN_OR_RETURN(const std::string cubin, ReadFile(cubin_path));
  ASSIGN_OR_RETURN(const std::string ptx, ReadFile(ptx_path));
  const v1::Bundle whole = ExampleBundle();
  v1::Bundle plans_only = whole;
  plans_only.clear_cubin();
  plans_only.clear_ptx();
  const std::string tiny = TinyBundle(cubin, ptx).SerializeAsString();
  const AdmissionResult admitted = Admit(tiny, ExampleWorkload(), {}, ExampleDevice());
  if (const auto* rejection = std::get_if<Rejection>(&admitted)) return absl::InternalError(rejection->Line());
  RETURN_IF_ERROR(WriteFileAtomically(root / "profiler_service/admission/fuzz_corpus/plan/example",
                                      whole.plans(0).SerializeAsString()));
  RETURN_IF_ERROR(WriteFileAtomically(root / "profiler_service/admission/fuzz_corpus/admission/tiny", tiny));
  return WriteFileAtomically(root / "common/bundle/fuzz_corpus/bundle/plans_only", plans_only.SerializeAsString());
}

}  // namespace
}  // namespace sassay::admission

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: write_fuzz_corpus ROOT TINY.cubin TINY.ptx\n";
    return 2;
  }
  const absl::Status status = sassay::admission::Write(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
