// Which lie a falsifying program tells at the moment: the text of the file `falsify` beside it, which the experiment
// writes between turns. A runner sees it in its sandbox, too, since its own folder is shown there.
#ifndef SASSAY_TESTS_INJECTED_LIE_H_
#define SASSAY_TESTS_INJECTED_LIE_H_

#include <filesystem>
#include <fstream>
#include <string>

namespace sassay::injected {

// Empty: the truth.
inline std::string CurrentLie() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  std::ifstream file(own.parent_path() / "falsify");
  std::string lie;
  std::getline(file, lie);
  return lie;
}

}  // namespace sassay::injected

#endif  // SASSAY_TESTS_INJECTED_LIE_H_
