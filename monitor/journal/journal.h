// The monitor's memory: an append-only file that a kill at any byte leaves readable.
//
// Why: what the monitor decided (a GPU is held, an exclusion is to be asked for, an incident to be handed over) must be
// known to the monitor that is started after it, or a hot GPU takes work again because somebody restarted a process.
//
// File: "SASSAYJ1", then records of 4 bytes length (little endian), 8 bytes checksum (the first of the SHA-256 of
// length and content), and a JournalEntry. A record is whole or it is not there.
#ifndef SASSAY_MONITOR_JOURNAL_JOURNAL_H_
#define SASSAY_MONITOR_JOURNAL_JOURNAL_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sassay/v1/monitor_state.pb.h"

namespace sassay::monitor {

// What a file held.
struct JournalContent {
  std::vector<v1::JournalEntry> entries;  // in order
  uint64_t good_bytes = 0;                // what is behind this is torn or damaged
  std::string damage;                     // one line about it; empty if there is none
};

// Reads bytes of a journal, whatever they are. Pure; never fails: damage ends the list.
JournalContent ReadJournal(absl::string_view bytes);

// Life cycle: Open, Append for ever, Compact when Bulky. Threads: thread-compatible. One process at a time: the file is
// locked (FAILED_PRECONDITION for the second). Failure: an Append that failed leaves the file as it was before, so that
// it can be tried again.
class Journal {
 public:
  struct Opened {
    std::unique_ptr<Journal> journal;
    std::vector<v1::JournalEntry> entries;  // for Engine::Restore
    std::string warning;                    // a torn or damaged tail was cut, and lies beside the file as PATH.cut
  };
  // Opens or makes the file, mode 0600, with its folder.
  static absl::StatusOr<Opened> Open(const std::filesystem::path& path);
  ~Journal();

  // On disk (fdatasync) when OK is returned. Empty: nothing happens.
  absl::Status Append(const std::vector<v1::JournalEntry>& entries);

  // More than twice what it was after the last compaction, and more than 4 MiB.
  bool Bulky() const;
  // Replaces the file by `snapshot` (Engine::Snapshot) and the newest revision of each incident that it held, the
  // newest `keep_incidents` of them. A kill leaves the old file or the new one.
  absl::Status Compact(const std::vector<v1::JournalEntry>& snapshot, size_t keep_incidents = 10000);

  // Newest revision of each incident that began at `from` or later, oldest first. Reads the file.
  absl::StatusOr<std::vector<v1::Incident>> Incidents(absl::Time from) const;

 private:
  Journal(std::filesystem::path path, int fd, uint64_t size);
  std::filesystem::path path_;
  int fd_;
  int lock_ = -1;
  uint64_t size_;
  uint64_t compacted_size_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_JOURNAL_JOURNAL_H_
