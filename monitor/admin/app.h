// sassay-admin, the operator's command: who holds which GPU, what went wrong, who used what.
#ifndef SASSAY_MONITOR_ADMIN_APP_H_
#define SASSAY_MONITOR_ADMIN_APP_H_

#include <ostream>
#include <string>
#include <vector>

namespace sassay::monitor {

// The process as the command sees it; tests hand in their own.
struct AdminTerminal {
  std::ostream* out;
  std::ostream* err;
  bool color = false;
  size_t columns = 0;  // help is wrapped to; 0: not
};

// Exit statuses.
inline constexpr int kAdminDone = 0;
inline constexpr int kAdminRefused = 1;  // the service understood and cannot: no canary on an emulated device, GPU busy
inline constexpr int kAdminUsage = 2;    // unknown command, GPU or tenant; a token that may not
inline constexpr int kAdminUnreachable = 3;  // the service did not answer; worth trying again

// `arguments` without the program's name. The answer goes to `out` (one JSON document with --json, one per line with
// --follow), everything else to `err`.
int RunAdmin(const std::vector<std::string>& arguments, const AdminTerminal& terminal);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_ADMIN_APP_H_
