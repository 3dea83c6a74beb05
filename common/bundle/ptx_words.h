// PTX as words, for those who look at its text without parsing it.
#ifndef SASSAY_COMMON_BUNDLE_PTX_WORDS_H_
#define SASSAY_COMMON_BUNDLE_PTX_WORDS_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace sassay {

// Splits PTX into words ("mad.lo.s32", "%r1", ".entry"), strings and single punctuation marks, without comments.
// The text must outlive it. Thread-compatible. Never fails: whatever the bytes are, every call moves on.
class PtxWords {
 public:
  explicit PtxWords(absl::string_view untrusted_ptx) : text_(untrusted_ptx) {}

  // The next word; empty at the end.
  absl::string_view Next();
  // The next word without moving on.
  absl::string_view Peek() const { return PtxWords(*this).Next(); }
  // To the end of the line: .loc and .file have no other end.
  void SkipLine();

 private:
  bool SkipBlankOrComment();
  absl::string_view SkipString(size_t begin);

  absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_PTX_WORDS_H_
