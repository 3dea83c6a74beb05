#include "tests/end_to_end/network.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"

namespace sassay::testing {
namespace {

absl::Status MayNot(const char* what) {
  return absl::PermissionDeniedError(absl::StrCat("networks cannot be cut here: ", what, ": ", strerror(errno),
                                                  "; it takes root, and a container that lets root make namespaces"));
}

// A new namespace, kept by nothing but this descriptor.
absl::StatusOr<UniqueFd> NewNamespace() {
  absl::StatusOr<UniqueFd> made = absl::UnknownError("not run");
  std::thread([&made] {
    if (unshare(CLONE_NEWNET) != 0) {
      made = MayNot("unshare");
      return;
    }
    UniqueFd name_space(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!name_space.valid()) {
      made = MayNot("/proc/thread-self/ns/net");
      return;
    }
    made = std::move(name_space);
  }).join();
  return made;
}

absl::Status entered = absl::FailedPreconditionError("Network::Enter was not called in main");

std::string PathOf(const UniqueFd& name_space) { return absl::StrCat("/proc/", getpid(), "/fd/", name_space.get()); }

absl::Status Run(std::vector<std::string> argv, const std::string& input) {
  Command command;
  command.argv = std::move(argv);
  command.environment = {{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}};
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(command, absl::Seconds(30), 1 << 20, input));
  if (report.Succeeded()) return absl::OkStatus();
  if (absl::StrContains(report.stderr_text, "File exists")) return absl::AlreadyExistsError(report.stderr_text);
  return absl::InternalError(absl::StrCat(input, ": ", report.stderr_text));
}

std::vector<std::string> Inside(const std::string& name_space) { return {"nsenter", "--net=" + name_space}; }

absl::Status Ip(std::vector<std::string> inside, const std::string& commands) {
  inside.insert(inside.end(), {"ip", "-batch", "-"});
  return Run(std::move(inside), commands);
}

}  // namespace

void Network::Enter() {
  if (unshare(CLONE_NEWNET) != 0) {
    entered = MayNot("unshare");
    return;
  }
  // By a system call: the first child process would bring threads of ours with it.
  const UniqueFd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback = {};
  std::strncpy(loopback.ifr_name, "lo", sizeof(loopback.ifr_name) - 1);
  loopback.ifr_flags = IFF_UP;
  entered = ioctl(any.get(), SIOCSIFFLAGS, &loopback) == 0 ? absl::OkStatus() : MayNot("SIOCSIFFLAGS");
}

absl::StatusOr<std::unique_ptr<Network>> Network::Make() {
  RETURN_IF_ERROR(entered);
  ASSIGN_OR_RETURN(UniqueFd router, NewNamespace());
  std::unique_ptr<Network> network(new Network(std::move(router)));
  std::vector<std::string> forward = Inside(PathOf(network->router_));
  forward.insert(forward.end(), {"sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"});
  RETURN_IF_ERROR(Run(std::move(forward), ""));
  ASSIGN_OR_RETURN(network->here_, network->Connect(absl::StrCat("/proc/", getpid(), "/ns/net"), {}));
  return network;
}

Network::~Network() {
  if (!here_.address.empty()) AtRouter("link del h1\n").IgnoreError();
}

absl::Status Network::AtRouter(const std::string& commands) const { return Ip(Inside(PathOf(router_)), commands); }

absl::StatusOr<Host> Network::AddHost() {
  ASSIGN_OR_RETURN(UniqueFd name_space, NewNamespace());
  const std::string path = PathOf(name_space);
  {
    absl::MutexLock lock(&mutex_);
    hosts_.push_back(std::move(name_space));
  }
  return Connect(path, Inside(path));
}

absl::StatusOr<Host> Network::Connect(const std::string& name_space, std::vector<std::string> inside) {
  int number = 0;
  {
    absl::MutexLock lock(&mutex_);
    number = ++devices_;
  }
  const std::string net = absl::StrCat("10.77.", number, ".");
  const std::string device = absl::StrCat("h", number);
  RETURN_IF_ERROR(AtRouter(absl::StrCat("link add ", device, " type veth peer name eth", number, " netns ", name_space,
                                        "\naddr add ", net, "1/30 dev ", device, "\nlink set ", device, " up\n")));
  RETURN_IF_ERROR(Ip(inside, absl::StrCat("addr add ", net, "2/30 dev eth", number, "\nlink set lo up\nlink set eth",
                                          number, " up\nroute add 10.77.0.0/16 via ", net, "1\n")));
  return Host{net + "2", std::move(inside)};
}

// A rule of the router that drops without a word (`blackhole`), where `unreachable` would answer.
absl::Status Network::Route(const char* verb, const Host& from, const Host& to) const {
  return AtRouter(absl::StrCat("rule ", verb, " pref 100 from ", from.address, " to ", to.address, " blackhole\n"));
}

absl::Status Network::Cut(const Host& from, const Host& to) {
  const absl::Status cut = Route("add", from, to);
  return absl::IsAlreadyExists(cut) ? absl::OkStatus() : cut;
}

absl::Status Network::Mend(const Host& from, const Host& to) { return Route("del", from, to); }

}  // namespace sassay::testing
