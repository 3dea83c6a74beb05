// A real Slurm on this machine: munge, slurmctld and several slurmd, each on ports and files of its own, each slurmd in
// a pid namespace that stands for a host. What it calls GPUs are names for /dev/null: Slurm hands them out and never
// opens them.
//
// Why: what Slurm does to a node's job (signals, time limits, requeues, dead hosts) is found out by asking Slurm.
#ifndef SASSAY_TESTS_SLURM_SLURM_CLUSTER_H_
#define SASSAY_TESTS_SLURM_SLURM_CLUSTER_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"

namespace sassay::testing {

// What is asked of a cluster. Hosts are called n1, n2, ….
struct SlurmOptions {
  int hosts = 3;
  int gpus_per_host = 2;
  // Run by slurmd before and after each job; empty: none.
  std::string prolog, epilog;
  // More lines for slurm.conf.
  std::string lines;
};

// What squeue or scontrol says of a job; fields are Slurm's own names and values ("JobState": "RUNNING", "NodeList":
// "n1").
using SlurmJob = std::map<std::string, std::string>;

// Life cycle: Start returns when every host is idle; the destructor ends the hosts with all their jobs, then the
// daemons. Nothing survives this process: hosts die with it, even by SIGKILL. Threads: compatible; commands may run
// from any thread. Failure: a status carries what Slurm printed; Logs() has all that the daemons said.
class SlurmCluster {
 public:
  // What this machine lacks for a Slurm; OK if it has it. Tests skip with it.
  static absl::Status Missing();

  static absl::StatusOr<std::unique_ptr<SlurmCluster>> Start(const SlurmOptions& options);
  ~SlurmCluster();

  // A folder for jobs' files.
  std::string folder() const { return directory_.path().string() + "/jobs"; }
  // Environment of Slurm's commands, and so of a job that sbatch submits.
  const std::map<std::string, std::string>& environment() const { return environment_; }

  // One of Slurm's commands: what it printed; INTERNAL if it failed.
  absl::StatusOr<std::string> Run(const std::vector<std::string>& command) const;
  // sbatch with these arguments and more of the environment; the job's id. Its output goes to folder()/ID.log.
  absl::StatusOr<std::string> Submit(const std::vector<std::string>& arguments,
                                     const std::map<std::string, std::string>& environment = {}) const;
  absl::StatusOr<SlurmJob> Job(const std::string& id) const;
  // All fields that scontrol knows of a host: "State", "Reason".
  absl::StatusOr<std::map<std::string, std::string>> Host(const std::string& name) const;
  // What the job printed until now.
  std::string Output(const std::string& id) const;

  // Waits until the job is in that state ("RUNNING", "COMPLETED", …). DEADLINE_EXCEEDED says in which it is.
  absl::Status WaitForState(const std::string& id, absl::string_view state, absl::Duration patience) const;
  // Waits until the job has printed that.
  absl::Status WaitForOutput(const std::string& id, absl::string_view text, absl::Duration patience) const;

  absl::Status WaitForHostState(const std::string& name, absl::string_view state, absl::Duration patience) const;

  // SIGKILL to everything on that host at once, as a power cut would; waits until all of it is gone.
  void KillHost(const std::string& name);
  // Brings it back and waits until Slurm has it.
  absl::Status StartHost(const std::string& name);
  // Living processes of that host with this name, by their ids here.
  std::vector<pid_t> Processes(const std::string& host, const std::string& program) const;

  std::string Logs() const;

 private:
  explicit SlurmCluster(const SlurmOptions& options, TemporaryDirectory directory)
      : options_(options), directory_(std::move(directory)) {}
  absl::Status Configure();
  absl::Status StartDaemons();
  absl::StatusOr<Subprocess> StartDaemon(const std::string& name, std::vector<std::string> argv);
  absl::StatusOr<Subprocess> Boot(const std::string& host);
  std::string Place(absl::string_view relative) const;

  const SlurmOptions options_;
  TemporaryDirectory directory_;
  std::map<std::string, std::string> environment_;
  std::vector<Subprocess> daemons_;          // munged, slurmctld
  std::map<std::string, Subprocess> hosts_;  // by name
};

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_SLURM_SLURM_CLUSTER_H_
