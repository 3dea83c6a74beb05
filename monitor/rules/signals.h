// The signals that samples have, so that a rule about one that nobody sends is refused instead of never firing.
//
// docs/monitor.md says what each means; a test holds the two against each other.
#ifndef SASSAY_MONITOR_RULES_SIGNALS_H_
#define SASSAY_MONITOR_RULES_SIGNALS_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace sassay::monitor {

// How a signal comes.
enum class SignalKind {
  kPolled,    // read again and again: that it does not come says that nobody knows, never that all is well
  kOccasion,  // comes when something happens: that it does not come says that nothing happened
};

struct Signal {
  absl::string_view name;
  SignalKind kind;
};

// All of them, sorted by name; constant.
const std::vector<Signal>& Signals();
// Null if there is none of that name.
const Signal* FindSignal(absl::string_view name);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_SIGNALS_H_
