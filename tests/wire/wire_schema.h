// A folder of .proto files as lines of text, one for each promise, and what a later folder breaks of them.
//
//   field sassay.v1.Event.sequence = 2: uint64
//   field sassay.v1.Event.accepted = 4: oneof what sassay.v1.Accepted
//   field sassay.v1.Bundle.files = 3: repeated sassay.v1.File
//   value sassay.v1.Status.CORRECT = 1
//   call sassay.v1.Profiler.Attach: sassay.v1.AttachRequest -> stream sassay.v1.Event
//
// Names count as numbers do: records and --json have them.
#ifndef SASSAY_TESTS_WIRE_WIRE_SCHEMA_H_
#define SASSAY_TESTS_WIRE_WIRE_SCHEMA_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sassay::wire {

struct Schema {
  std::set<std::string> lines;
  // Of each message and enum: what it promises never to use again, "3" or "name".
  std::map<std::string, std::set<std::string>> reserved;
};

// Reads FOLDER/sassay/v1/*.proto. INVALID_ARGUMENT says what protoc would say.
absl::StatusOr<Schema> ReadSchema(const std::string& folder);

// What was promised by `released` and is not kept by `today`, one line each; empty if all is. A field or value may go
// if its number and its name are reserved; everything may be added.
std::vector<std::string> Broken(const std::set<std::string>& released, const Schema& today);

}  // namespace sassay::wire

#endif  // SASSAY_TESTS_WIRE_WIRE_SCHEMA_H_
