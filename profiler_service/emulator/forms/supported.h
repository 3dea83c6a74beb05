// Which forms of the table the emulator runs, found out by decoding each of them.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_FORMS_SUPPORTED_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_FORMS_SUPPORTED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "profiler_service/emulator/forms/forms.h"

namespace sassay::emulator {

// One opcode that a form stands for.
struct Probed {
  std::string opcode;
  std::string refusal;  // empty: the emulator runs it
};

// Every opcode of `form`, in order. A Status where the emulator cannot read the form as PTX at all.
absl::StatusOr<std::vector<Probed>> Probe(const Form& form);

// The text of docs/emulator_instructions.md.
absl::StatusOr<std::string> InstructionsDocument();

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_FORMS_SUPPORTED_H_
