// That today's messages are understood by the version that was released before, and the other way round.
//
// tests/data/wire/released.txt is the schema of that version. After a release it is written anew:
//   SASSAY_WRITE_WIRE_SCHEMA=tests/data/wire/released.txt build/dev/tests/wire_schema_test
#include "tests/wire/wire_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"

namespace sassay::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kProto[] = R"(
syntax = "proto3";
package sassay.v1;
import "google/protobuf/timestamp.proto";
enum Colour { COLOUR_UNSPECIFIED = 0; RED = 1; }
message Thing {
  reserved 9;
  reserved "gone";
  string name = 1;
  repeated uint64 sizes = 2;
  Colour colour = 3;
  oneof what { google.protobuf.Timestamp at = 4; bytes raw = 5; }
  optional bool sure = 6;
}
service Things { rpc Watch(Thing) returns (stream Thing); }
)";

// The schema of kProto with one thing changed.
Schema With(const std::string& from, const std::string& to) {
  const auto folder = TemporaryDirectory::Create("wire");
  std::filesystem::create_directories(folder->path() / "sassay/v1");
  const std::string text = absl::StrReplaceAll(kProto, {{from, to}});
  EXPECT_TRUE(from == to || text != kProto) << from;
  EXPECT_TRUE(WriteFileAtomically(folder->path() / "sassay/v1/thing.proto", text, 0600).ok());
  const auto schema = ReadSchema(folder->path());
  EXPECT_TRUE(schema.ok()) << schema.status();
  return schema.ok() ? *schema : Schema();
}

std::vector<std::string> BrokenBy(const std::string& from, const std::string& to) {
  return Broken(With("", "").lines, With(from, to));
}

TEST(WireSchemaTest, ALineForEachPromise) {
  EXPECT_THAT(With("", "").lines,
              UnorderedElementsAre(
                  "value sassay.v1.Colour.COLOUR_UNSPECIFIED = 0", "value sassay.v1.Colour.RED = 1",
                  "field sassay.v1.Thing.name = 1: string", "field sassay.v1.Thing.sizes = 2: repeated uint64",
                  "field sassay.v1.Thing.colour = 3: sassay.v1.Colour",
                  "field sassay.v1.Thing.at = 4: oneof what google.protobuf.Timestamp",
                  "field sassay.v1.Thing.raw = 5: oneof what bytes", "field sassay.v1.Thing.sure = 6: optional bool",
                  "call sassay.v1.Things.Watch: sassay.v1.Thing -> stream sassay.v1.Thing"));
}

TEST(WireSchemaTest, WhatIsAddedBreaksNothing) {
  EXPECT_THAT(BrokenBy("string name = 1;", "string name = 1; string other = 7;"), IsEmpty());
  EXPECT_THAT(BrokenBy("RED = 1;", "RED = 1; BLUE = 2;"), IsEmpty());
  EXPECT_THAT(BrokenBy("bytes raw = 5;", "bytes raw = 5; bool none = 8;"), IsEmpty());
}

TEST(WireSchemaTest, WhatIsRenumberedRetypedRenamedOrRemovedIsFound) {
  EXPECT_THAT(BrokenBy("string name = 1;", "string name = 7;"), ElementsAre("field sassay.v1.Thing.name = 1: string"));
  EXPECT_THAT(BrokenBy("string name = 1;", "bytes name = 1;"), ElementsAre("field sassay.v1.Thing.name = 1: string"));
  EXPECT_THAT(BrokenBy("string name = 1;", "string title = 1;"), ElementsAre("field sassay.v1.Thing.name = 1: string"));
  EXPECT_THAT(BrokenBy("string name = 1;", ""), ElementsAre("field sassay.v1.Thing.name = 1: string"));
  EXPECT_THAT(BrokenBy("repeated uint64 sizes", "uint64 sizes"),
              ElementsAre("field sassay.v1.Thing.sizes = 2: repeated uint64"));
  EXPECT_THAT(BrokenBy("optional bool sure", "bool sure"),
              ElementsAre("field sassay.v1.Thing.sure = 6: optional bool"));
  EXPECT_THAT(BrokenBy("RED = 1;", "RED = 2;"), ElementsAre("value sassay.v1.Colour.RED = 1"));
  EXPECT_THAT(BrokenBy("returns (stream Thing)", "returns (Thing)"),
              ElementsAre("call sassay.v1.Things.Watch: sassay.v1.Thing -> stream sassay.v1.Thing"));
}

TEST(WireSchemaTest, WhatIsReservedMayGo) {
  EXPECT_THAT(BrokenBy("string name = 1;", "reserved 1; reserved \"name\";"), IsEmpty());
  EXPECT_THAT(BrokenBy("string name = 1;", "reserved 1;"), ElementsAre("field sassay.v1.Thing.name = 1: string"));
  EXPECT_THAT(BrokenBy("RED = 1;", "reserved 1; reserved \"RED\";"), IsEmpty());
}

TEST(WireSchemaTest, WhatWasReleasedIsKept) {
  const std::string source = SASSAY_SOURCE_DIR;
  const auto today = ReadSchema(source + "/proto");
  ASSERT_TRUE(today.ok()) << today.status();
  if (const char* file = std::getenv("SASSAY_WRITE_WIRE_SCHEMA"); file != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(file, absl::StrJoin(today->lines, "\n") + "\n", 0644).ok());
  }
  const auto released = ReadFile(source + "/tests/data/wire/released.txt");
  ASSERT_TRUE(released.ok()) << released.status();
  const std::set<std::string> lines = absl::StrSplit(*released, '\n', absl::SkipEmpty());
  EXPECT_GT(lines.size(), 500u);
  EXPECT_THAT(Broken(lines, *today), IsEmpty())
      << "the version that was released says or expects this. Numbers, types and names stay; what goes is reserved by "
         "number and by name";
}

}  // namespace
}  // namespace sassay::wire
