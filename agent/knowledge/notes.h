// Repair notes: what somebody learned from a failure, handed to a model that meets the same one (`--notes
// DIR[:kernel]`).
//
// A note is one text file NAME.md in DIR: header lines, an empty line, the explanation. A kernel that repairs it may
// lie beside it and is named in the header.
//
//   code: MBARRIER_DEADLOCK, KERNEL_TIMEOUT      verdict codes it is for; needed
//   arch: sm_90a                                 architectures; absent: any
//   definition: gemm_*                           patterns of definitions, * for any letters; absent: any
//   symptom: consumers wait for ever             one line
//   kernel: ring.cu                              the repaired kernel, relative to the note; may be absent
//
//   The ring's producer waits on …
#ifndef SASSAY_AGENT_KNOWLEDGE_NOTES_H_
#define SASSAY_AGENT_KNOWLEDGE_NOTES_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// One note. Plain data.
struct RepairNote {
  // The file's name without ".md"; what notes are sorted by.
  std::string name;
  std::vector<sassay::v1::VerdictCode> codes;
  std::vector<std::string> archs;
  std::vector<std::string> definitions;
  std::string symptom;
  std::string explanation;
  // Content of the repaired kernel; empty where the note has none.
  std::string kernel;
};

// INVALID_ARGUMENT names the line. `kernel` is left as the path that the header names.
absl::StatusOr<RepairNote> ParseRepairNote(absl::string_view untrusted, absl::string_view name);

// A folder of notes.
//
// Life cycle: loaded once, immutable. Threads: const methods from any thread. Failure: Load names the file and the
// line.
class RepairNotes {
 public:
  // No notes.
  RepairNotes() = default;
  // `option` is "DIR" or "DIR:kernel"; with the latter For() shows repaired kernels. NOT_FOUND if there is no such
  // folder, INVALID_ARGUMENT for a note that cannot be read.
  static absl::StatusOr<RepairNotes> Load(absl::string_view option);

  // What to append to the feedback about `verdict`: the notes for its code (and for the codes of its convicting
  // findings) that fit arch and definition; those made for the fewest cases first (a definition named, then an arch
  // named), then by name; at most `most`. Empty where there is none, and for infrastructure's trouble. Deterministic.
  std::string For(const sassay::v1::Verdict& verdict, absl::string_view arch, absl::string_view definition,
                  size_t most = 2) const;

  const std::vector<RepairNote>& notes() const { return notes_; }
  bool shows_kernels() const { return shows_kernels_; }

 private:
  std::vector<RepairNote> notes_;  // by name
  bool shows_kernels_ = false;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_KNOWLEDGE_NOTES_H_
