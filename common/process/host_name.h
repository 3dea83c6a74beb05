// What this host calls itself: how monitor and service name it alike.
#ifndef SASSAY_COMMON_PROCESS_HOST_NAME_H_
#define SASSAY_COMMON_PROCESS_HOST_NAME_H_

#include <string>

namespace sassay {

// Of the kernel; empty if there is none.
std::string HostName();

}  // namespace sassay

#endif  // SASSAY_COMMON_PROCESS_HOST_NAME_H_
