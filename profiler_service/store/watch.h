// What others changed in a store that several processes share.
//
// A process hears of its own writes by their callbacks; of everybody else's it would learn only by asking again and
// again. Hearing is a hint and never the truth: it comes after the change is durable, may be late, may come twice, and
// says where to look. What was missed comes as `everything`, at the latest every few seconds.
#ifndef SASSAY_PROFILER_SERVICE_STORE_WATCH_H_
#define SASSAY_PROFILER_SERVICE_STORE_WATCH_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace sassay::store {

// Where to look, gathered over a few milliseconds.
struct Changes {
  // Anything may have changed: notifications may have been lost, there were too many to list, or it is time to look in
  // any case (5 s after the last time). Store::Progress answers for many submissions at once what became of them.
  bool everything = false;
  bool work = false;                     // a submission waits that did not before: Acquire may have something
  bool holds = false;                    // see Store::Holds
  bool exclusions = false;               // see Store::ExcludedSince, OpenWindows
  bool incidents = false;                // see Store::IncidentsSince
  std::vector<std::string> submissions;  // each once: they have new events
  std::vector<std::string> cancelling;   // each once: asked to stop while they run; Store::Renew says so

  // More than this is found faster by looking at all that one watches: they become `everything`.
  static constexpr size_t kMostSubmissions = 1000;

  // Adds what `more` says; ids stay unique.
  void Add(const Changes& more) {
    everything |= more.everything;
    work |= more.work;
    holds |= more.holds;
    exclusions |= more.exclusions;
    incidents |= more.incidents;
    AddOnce(more.submissions, submissions);
    AddOnce(more.cancelling, cancelling);
    if (submissions.size() + cancelling.size() <= kMostSubmissions) return;
    submissions.clear();
    cancelling.clear();
    everything = true;
  }

  bool empty() const {
    return !everything && !work && !holds && !exclusions && !incidents && submissions.empty() && cancelling.empty();
  }

 private:
  static void AddOnce(const std::vector<std::string>& more, std::vector<std::string>& ids) {
    for (const std::string& id : more) {
      if (std::find(ids.rbegin(), ids.rend(), id) == ids.rend()) ids.push_back(id);
    }
  }
};

// Whose changes are told. A front end's nodes write through the front end: there, parts of one process have to hear of
// each other.
enum class Hears { kOthers, kEverybody };

// Called on a thread of the store, one call after the other. It may read; it must not wait for a write.
using Observer = std::function<void(const Changes&)>;

// Its destruction ends the watching and waits for a call under way. Must not outlive the store.
class Watch {
 public:
  virtual ~Watch() = default;
};

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_WATCH_H_
