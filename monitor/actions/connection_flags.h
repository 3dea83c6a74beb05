// The flags by which the monitor and sassay-admin reach a service; the agent's have the same names.
#ifndef SASSAY_MONITOR_ACTIONS_CONNECTION_FLAGS_H_
#define SASSAY_MONITOR_ACTIONS_CONNECTION_FLAGS_H_

#include "common/rpc/secure_channel.h"

namespace CLI {
class App;
}

namespace sassay::monitor {

// --service, --token-file, --ca-file, --cert-file, --key-file, --insecure, each with its SASSAY_ variable, and
// SASSAY_TOKEN. `options` is filled while `app` parses.
void AddConnectionFlags(CLI::App& app, ConnectionOptions& options);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_ACTIONS_CONNECTION_FLAGS_H_
