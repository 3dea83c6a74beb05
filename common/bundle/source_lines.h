// Places in a candidate's source, as tools name them, in the words of its bundle.
#ifndef SASSAY_COMMON_BUNDLE_SOURCE_LINES_H_
#define SASSAY_COMMON_BUNDLE_SOURCE_LINES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay {

// The source that a path of the machine that compiled ends with ("/tmp/x/kernel.cu"); null if the bundle has none.
const sassay::v1::SourceFile* FindSource(absl::string_view path, const sassay::v1::Bundle& bundle);

// Sets source_line ("kernel.cu:23") and, where the bundle has the file, source_text. Folders of the machine that
// compiled never get into a verdict. Nothing is set for an empty path.
void SetSourceLine(absl::string_view path, uint64_t line, const sassay::v1::Bundle& bundle,
                   sassay::v1::ThreadLocation& location);

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_SOURCE_LINES_H_
