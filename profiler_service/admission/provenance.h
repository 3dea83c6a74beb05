// Provenance: is the cubin what ptxas makes of the PTX? A bundle carries both; the service repeats the step in a
// sandbox and compares bytes. Only then does a score belong to the code that was published: a vendor library's kernel,
// or SASS edited by hand, has no PTX that gives it.
#ifndef SASSAY_PROFILER_SERVICE_ADMISSION_PROVENANCE_H_
#define SASSAY_PROFILER_SERVICE_ADMISSION_PROVENANCE_H_

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/toolchain/ptxas.h"
#include "common/toolchain/toolchain.h"
#include "profiler_service/admission/admission.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::admission {

// The answer and, unless it is VERIFIED, why.
struct ProvenanceResult {
  sassay::v1::Provenance provenance = sassay::v1::PROVENANCE_CLAIMED;
  std::string reason;
};

// Checks and remembers.
//
// Life cycle: made once for the service. Threads: thread-safe; two threads that ask for one digest wait for one run of
// ptxas. Ownership: holds everything by value.
// Failure: none; what cannot be checked is CLAIMED or, where a second submission may end better, UNAVAILABLE, with the
// reason. Answers about the bundle are remembered, and so is PTX on which ptxas spent all the time there is; other
// troubles of ours (no ptxas, no sandbox, which is tried twice) are not.
class ProvenanceChecker {
 public:
  // How PTX becomes a cubin within `timeout`; AssemblePtx with this machine's toolkit, or a test's own.
  using Assemble = std::function<absl::StatusOr<Assembly>(const sassay::v1::Compilation&, absl::string_view ptx,
                                                          absl::Duration timeout, const StopAsked& stop)>;

  struct Options {
    // ptxas on the largest known PTX takes 20 s.
    absl::Duration timeout = absl::Seconds(120);
    // Digests remembered; the least recently used one is forgotten first.
    size_t remembered = 10'000;
    // Lets ptxas run outside a sandbox. Anything it reads is the bundle's own PTX, but ptxas parses hostile text.
    absl::optional<AllowUnsandboxed> unsandboxed;
  };

  // Uses this machine's toolkit; where there is none every bundle is CLAIMED, with what to install.
  ProvenanceChecker(absl::StatusOr<Toolchain> toolchain, Options options);
  // Uses `assemble`, whose ptxas has the release `version`.
  ProvenanceChecker(Assemble assemble, std::string version, Options options);

  // Answers at `deadline` (of SteadyNow) at the latest, and at once when `stop` says so: UNAVAILABLE then.
  ProvenanceResult Check(const AdmittedBundle& bundle, absl::Time deadline = absl::InfiniteFuture(),
                         const StopAsked& stop = {}) ABSL_LOCKS_EXCLUDED(mutex_);

  // Release of ptxas ("13.0.88"); empty where there is none. For GetCapabilities.
  const std::string& toolkit_version() const { return version_; }

 private:
  struct Entry {
    bool done = false;
    ProvenanceResult result;
    std::list<std::string>::iterator recent;
  };

  struct Answer {
    ProvenanceResult result;
    bool final = false;  // may be remembered
  };
  // The remembered answer; or nothing, and the entry is this thread's to compute; or that time is up.
  absl::optional<ProvenanceResult> Recall(const std::string& digest, absl::Time deadline, const StopAsked& stop)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Answer Compute(const sassay::v1::Bundle& bundle, absl::Time deadline, const StopAsked& stop) const;
  Answer Judge(const sassay::v1::Bundle& bundle, const Assembly& assembly, absl::Duration timeout) const;
  void Finish(const std::string& digest, const Answer& answer) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  Assemble assemble_;
  std::string version_;
  std::string unavailable_;  // why there is no ptxas

  absl::Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::list<std::string> recent_ ABSL_GUARDED_BY(mutex_);  // finished digests, least recent first
};

// Where two cubins begin to differ, in words: "section .text.gemm". For messages.
std::string FirstDifference(absl::string_view untrusted_cubin, absl::string_view expected);

}  // namespace sassay::admission

#endif  // SASSAY_PROFILER_SERVICE_ADMISSION_PROVENANCE_H_
