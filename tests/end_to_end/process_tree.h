// Who lives below this process, as /proc tells it: what a killed service leaves behind must be found without its help.
#ifndef SASSAY_TESTS_END_TO_END_PROCESS_TREE_H_
#define SASSAY_TESTS_END_TO_END_PROCESS_TREE_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace sassay::testing {

// One line of a snapshot.
struct Process {
  pid_t pid = 0, parent = 0;
  char state = '?';  // 'Z': dead, not yet waited for
  std::string name;  // the kernel's, at most 15 characters
};

// Every process below `root`, parents before their children. Processes that come and go meanwhile may be missing.
std::vector<Process> DescendantsOf(pid_t root);
// Those of them that are called `name` and live.
std::vector<pid_t> LivingDescendants(pid_t root, const std::string& name);

// Makes this process the parent of every descendant whose own parent dies, instead of init.
void AdoptOrphans();
// Waits until every adopted orphan has died, those that are orphaned meanwhile included, and takes their zombies away.
// Children in `ours` are no orphans, nor are those called one of `names_of_ours`. Answers how many there were;
// DEADLINE_EXCEEDED names one that lives on.
absl::StatusOr<int> WaitForOrphansToDie(const std::set<pid_t>& ours, const std::set<std::string>& names_of_ours,
                                        absl::Time deadline);

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_END_TO_END_PROCESS_TREE_H_
