// A real PostgreSQL server for tests, of this process alone.
#ifndef SASSAY_PROFILER_SERVICE_STORE_TESTING_POSTGRES_SERVER_H_
#define SASSAY_PROFILER_SERVICE_STORE_TESTING_POSTGRES_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"

namespace sassay::store {

// Data, socket and log lie in a temporary folder; no port is opened unless the server has a host of its own. PostgreSQL
// refuses to run as root: then it runs as the user `postgres`, which its package has made, or `nobody`.
//
// Life cycle: Start makes a cluster (initdb, a second) and waits until the server answers. Destruction ends the server
// that was started, by its pid, and removes the folder.
class PostgresServer {
 public:
  struct Options {
    // Off: a crash of the machine may lose all, which only tests of durability mind.
    bool durable = false;
    std::vector<std::string> settings;  // "name=value"
    // On another host: what a command line begins with to run there ("nsenter", "--net=…"), and the address by which
    // clients of any host reach the server. Empty: here, through a socket in the folder.
    std::vector<std::string> inside;
    std::string address;
  };

  // NOT_FOUND if PostgreSQL is not installed here (deploy/install_dependencies.sh does it).
  static absl::StatusOr<std::unique_ptr<PostgresServer>> Start(const Options& options);
  static absl::StatusOr<std::unique_ptr<PostgresServer>> Start() { return Start(Options()); }
  // The server that all tests of a program share; started when first asked for.
  static absl::StatusOr<PostgresServer*> OfThisProgram();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // Makes a database and answers its URI.
  absl::StatusOr<std::string> NewDatabase();
  // The database of those tests that only need empty tables: it keeps its schema, and takes a tenth of the time.
  absl::StatusOr<std::string> EmptiedDatabase();

  // A program of PostgreSQL, as the server's user: Run({"psql", "-d", uri, "-c", "…"}). Answers what it printed;
  // INTERNAL if it failed.
  absl::StatusOr<std::string> Run(std::vector<std::string> argv) { return Feed(std::move(argv), ""); }
  absl::StatusOr<std::string> Feed(std::vector<std::string> argv, const std::string& input);

  // Where its socket is.
  std::string folder() const { return folder_.path(); }

  // What happens to servers. SIGKILL of the server and all its sessions; start again on the same data; SIGSTOP and
  // SIGCONT of all of them.
  void Crash();
  absl::Status StartAgain();
  void Pause();
  void Continue();

  // Of all its processes that live, and of those that have ended.
  double ProcessorSeconds() const;
  // How often those that live have waited: for a client, a lock, the disk.
  uint64_t Waits() const;

 private:
  PostgresServer(TemporaryDirectory folder, std::string programs, Options options);
  Command CommandOf(std::vector<std::string> argv) const;
  absl::Status MakeCluster();
  absl::Status WaitUntilItAnswers();
  std::vector<pid_t> Processes() const;
  void Signal(int number);
  std::string Data() const { return folder_.path() / "data"; }
  std::string UriOf(const std::string& database) const;

  const TemporaryDirectory folder_;
  const std::string programs_;
  const Options options_;
  absl::optional<Subprocess> server_;
  int databases_ = 0;
};

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_TESTING_POSTGRES_SERVER_H_
