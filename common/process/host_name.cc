#include "common/process/host_name.h"

#include <unistd.h>

namespace sassay {

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace sassay
