#include "agent/report/read/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/statusor.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

absl::StatusOr<Rows> Read(absl::string_view text, const CsvLimits& limits = {}) {
  Rows rows;
  const absl::Status status = ReadCsv(text, limits, [&](const CsvRow& row) {
    rows.emplace_back();
    for (const CsvField& field : row) rows.back().push_back(field.text);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

std::string Error(absl::string_view text, const CsvLimits& limits = {}) {
  return std::string(Read(text, limits).status().message());
}

TEST(Csv, ReadsQuotedFieldsWithCommasQuotesAndLines) {
  EXPECT_THAT(*Read("a,b\n\"A, H\",\"say \"\"x\"\"\"\n\"two\nlines\",\n"),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("A, H", "say \"x\""), ElementsAre("two\nlines", "")));
}

TEST(Csv, ReadsBothLineEndsAMarkAndALastLineWithoutEnd) {
  EXPECT_THAT(*Read("\xEF\xBB\xBF"
                    "a,b\r\n1,2\r\n\r\n3,4"),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("1", "2"), ElementsAre("3", "4")));
}

TEST(Csv, BlanksBelongToTheirField) { EXPECT_THAT(*Read(" a ,b\n"), ElementsAre(ElementsAre(" a ", "b"))); }

TEST(Csv, FieldsKnowWhereTheyBegin) {
  std::vector<std::pair<size_t, size_t>> places;
  ASSERT_TRUE(ReadCsv("a,bc\r\n\"x\ny\",z\n\n,q\n", {}, [&](const CsvRow& row) {
                for (const CsvField& field : row) places.emplace_back(field.line, field.column);
                return absl::OkStatus();
              }).ok());
  EXPECT_THAT(places, ElementsAre(std::pair(1, 1), std::pair(1, 3), std::pair(2, 1), std::pair(3, 4), std::pair(5, 1),
                                  std::pair(5, 2)));
}

TEST(Csv, RefusesWithLineAndColumn) {
  EXPECT_EQ(Error("a,b\n1,2,3\n"), "line 2, column 1: expected 2 fields as in the header, not 3");
  EXPECT_THAT(Error("a,b\n1,x\"y\n"), HasSubstr("line 2, column 4: a quote may only stand"));
  EXPECT_THAT(Error("a,b\n1,\"x\"y\n"), HasSubstr("line 2, column 6: a quote may only stand"));
  EXPECT_THAT(Error("a,b\n1,\"x\n"), HasSubstr("line 2, column 3: the quoted field that begins here has no end"));
  EXPECT_THAT(Error(absl::string_view("a,b\nc\0,d\n", 9)), HasSubstr("line 2, column 2: a NUL byte"));
  EXPECT_THAT(Error("a,b\n1,\xff\n"), HasSubstr("line 2, column 3: the text is not UTF-8"));
}

TEST(Csv, KeepsItsBounds) {
  EXPECT_THAT(Error("a,b,c\n", {10, 2, 10}), HasSubstr("line 1, column 5: a row has at most 2 fields"));
  EXPECT_THAT(Error("a\n1\n2\n", {2, 2, 10}), HasSubstr("more than 2 rows"));
  EXPECT_THAT(Error("a,\"1234567890123\n", {2, 2, 10}), HasSubstr("line 1, column 3: a field has at most 10 bytes"));
}

TEST(Csv, ErrorOfTheTakerEndsIt) {
  int rows = 0;
  const absl::Status status = ReadCsv(
      "a\n1\n2\n3\n", {}, [&](const CsvRow& row) { return ++rows == 2 ? CsvError(row[0], "no") : absl::OkStatus(); });
  EXPECT_EQ(status.message(), "line 2, column 1: no");
  EXPECT_EQ(rows, 2);
}

}  // namespace
}  // namespace sassay::agent
