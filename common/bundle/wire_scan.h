// A look at foreign protobuf bytes before they become objects. Parsing 64 MB of two-byte messages would take gigabytes,
// and unknown fields would ride along unseen; this walk costs no memory and says where the trouble is.
#ifndef SASSAY_COMMON_BUNDLE_WIRE_SCAN_H_
#define SASSAY_COMMON_BUNDLE_WIRE_SCAN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace sassay {

// What an untrusted message may consist of.
struct WireLimits {
  // Messages of all depths, the outermost included, plus elements of repeated scalars.
  uint64_t max_messages = 1 << 20;
  int max_depth = 16;
};

// Walks `untrusted` as a message of `type`. INVALID_ARGUMENT for broken wire format, a field the type does not have or
// a wire type it does not have; RESOURCE_EXHAUSTED past a limit. Messages name the field
// ("plans[0].steady[17].launch").
absl::Status ScanWire(const google::protobuf::Descriptor& type, absl::string_view untrusted, const WireLimits& limits);

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_WIRE_SCAN_H_
