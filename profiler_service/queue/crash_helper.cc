// A small service process for crash_test: queue, dispatcher and store, without a port. Says each step on stdout the
// moment it may be relied upon, and is killed by its parent at whatever moment.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "profiler_service/queue/dispatcher.h"
#include "profiler_service/queue/queue.h"
#include "profiler_service/queue/queue_testing.h"
#include "profiler_service/store/sqlite/sqlite_store.h"

namespace sassay::queue {
namespace {

void Say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

// Whatever has had a place on "g" until now does not count.
bool Exclude(Queue& queue, const std::string& incident) {
  return store::Await<store::Exclusions>([&](store::Callback<store::Exclusions> done) {
           queue.Exclude({"g", absl::UnixEpoch(), absl::Now(), incident, "hot"}, std::move(done));
         })
      .ok();
}

int Serve(const std::string& database, int submissions, bool exclude) {
  auto store = store::OpenSqliteStore(database);
  if (!store.ok()) return 4;
  Queue queue(**store, QueueOptions());
  if (!queue.Start().ok()) return 5;
  FakeRunner runner(4);
  runner.run = [](const Job& job, JobObserver& observer) {
    observer.SeatTaken(job.attempt % 2 == 1 ? "g" : "h");
    observer.StageStarted(sassay::v1::STAGE_EVALUATE, "d");
    Say(absl::StrCat("running ", job.request.request_id()));
    observer.StageFinished(sassay::v1::StageReport());
    sassay::v1::Verdict verdict = CorrectVerdict();
    verdict.add_stages()->set_device_ns(job.attempt);
    return verdict;
  };
  Dispatcher dispatcher(queue, runner, ReadNothing);
  std::vector<std::string> ids;
  for (int i = 0; i < submissions; ++i) {
    const auto submitted = SubmitAndWait(queue, "ann", RequestOf(absl::StrCat("r", i)));
    if (!submitted.ok()) return 6;
    ids.push_back(submitted->id);
    Say(absl::StrCat("accepted ", i, " ", submitted->id));
    if (exclude && i % 7 == 0 && !Exclude(queue, absl::StrCat("incident ", i))) return 7;
  }
  for (const std::string& id : ids) WaitForVerdict(queue, "ann", id);
  Say("done");
  return 0;
}

}  // namespace
}  // namespace sassay::queue

// DATABASE SUBMISSIONS [exclude]
int main(int argc, char** argv) {
  return argc == 3 || argc == 4 ? sassay::queue::Serve(argv[1], std::atoi(argv[2]), argc == 4) : 2;
}
