#include "agent/report/read/csv.h"

#include <csv.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/utf8.h"

namespace sassay::agent {
namespace {

// libcsv's state and ours. It is fed byte by byte, so that each field's place is known.
class Reader {
 public:
  Reader(const CsvLimits& limits, absl::FunctionRef<absl::Status(const CsvRow&)> take) : limits_(limits), take_(take) {
    csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI);
    // Blanks belong to their field.
    csv_set_space_func(&parser_, [](unsigned char) { return 0; });
  }
  ~Reader() { csv_free(&parser_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  absl::Status Read(absl::string_view text) {
    for (const char byte : text) {
      const bool begins = at_field_start_;
      if (begins) begin_ = {"", line_, column_};
      at_field_start_ = begins && row_.empty() && IsLineEnd(byte);
      if (csv_parse(&parser_, &byte, 1, OnField, OnRow, this) != 1) return Malformed();
      if (!error_.ok()) return error_;
      if (++bytes_ > limits_.max_field_bytes) return CsvError(begin_, TooLong());
      Advance(byte);
    }
    if (csv_fini(&parser_, OnField, OnRow, this) != 0)
      return CsvError(begin_, "the quoted field that begins here has no end");
    return error_;
  }

 private:
  static bool IsLineEnd(char byte) { return byte == '\n' || byte == '\r'; }
  static void OnField(void* text, size_t size, void* self) {
    static_cast<Reader*>(self)->TakeField(
        absl::string_view(static_cast<const char*>(text), text == nullptr ? 0 : size));
  }
  static void OnRow(int, void* self) { static_cast<Reader*>(self)->TakeRow(); }

  void TakeField(absl::string_view text) {
    if (row_.size() >= limits_.max_fields) {
      error_.Update(CsvError(begin_, absl::StrCat("a row has at most ", limits_.max_fields, " fields")));
      return;
    }
    row_.push_back({std::string(text), begin_.line, begin_.column});
    at_field_start_ = true;
    bytes_ = 0;
  }

  void TakeRow() {
    if (width_ == 0) width_ = row_.size();
    if (row_.size() != width_) {
      error_.Update(
          CsvError(row_[0].line, 1, absl::StrCat("expected ", width_, " fields as in the header, not ", row_.size())));
    } else if (++rows_ > limits_.max_rows) {
      error_.Update(CsvError(line_, 1, absl::StrCat("more than ", limits_.max_rows, " rows")));
    }
    if (error_.ok()) error_.Update(take_(row_));
    row_.clear();
  }

  void Advance(char byte) {
    const bool second_of_pair = byte == '\n' && last_ == '\r';
    last_ = byte;
    if (second_of_pair) return;
    if (!IsLineEnd(byte)) {
      ++column_;
      return;
    }
    ++line_;
    column_ = 1;
  }

  std::string TooLong() const {
    return absl::StrCat("a field has at most ", limits_.max_field_bytes, " bytes; is a quote missing?");
  }

  absl::Status Malformed() {
    if (csv_error(&parser_) != CSV_EPARSE) return absl::ResourceExhaustedError(csv_strerror(csv_error(&parser_)));
    return CsvError(line_, column_, "a quote may only stand around a whole field, and is doubled inside");
  }

  const CsvLimits limits_;
  const absl::FunctionRef<absl::Status(const CsvRow&)> take_;
  csv_parser parser_;
  CsvRow row_;
  size_t width_ = 0, rows_ = 0, bytes_ = 0, line_ = 1, column_ = 1;
  bool at_field_start_ = true;
  CsvField begin_ = {"", 1, 1};
  char last_ = 0;
  absl::Status error_;
};

absl::Status CheckText(absl::string_view text) {
  const size_t nul = text.find('\0');
  const size_t invalid = FirstInvalidUtf8(text);
  const size_t at = std::min(nul, invalid);
  if (at == text.npos) return absl::OkStatus();
  const absl::string_view before = text.substr(0, at);
  const size_t line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') + 1;
  return CsvError(line, at - line_start + 1, nul == at ? "a NUL byte; this is no text" : "the text is not UTF-8");
}

}  // namespace

absl::Status CsvError(size_t line, size_t column, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ", column ", column, ": ", message));
}

absl::Status CsvError(const CsvField& field, absl::string_view message) {
  return CsvError(field.line, field.column, message);
}

absl::Status ReadCsv(absl::string_view text, const CsvLimits& limits,
                     absl::FunctionRef<absl::Status(const CsvRow&)> take) {
  const absl::string_view content = absl::StripPrefix(text, "\xEF\xBB\xBF");
  if (absl::Status status = CheckText(content); !status.ok()) return status;
  return Reader(limits, take).Read(content);
}

}  // namespace sassay::agent
