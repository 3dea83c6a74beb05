#include "common/sandbox/in_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using sandbox_internal::LandlockVersion;
using ::testing::HasSubstr;
using ::testing::Not;

class InPlace : public ::testing::Test {
 protected:
  void SetUp() override {
    if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock (CONFIG_SECURITY_LANDLOCK, lsm=)";
    directory_.emplace(*TemporaryDirectory::Create("in-place-test"));
    work_ = directory_->path() / "work";
    fs::create_directory(work_);
    std::ofstream(directory_->path() / "secret") << "secret";
    policy_.writable = {{work_.string(), "/work"}};
  }

  ExitReport Run(const std::string& script) const {
    Command command;
    command.argv = {"/bin/bash", "-c", script};
    command.environment = {{"PATH", "/usr/bin:/bin"}, {"OUTSIDE", directory_->path()}, {"WORK", work_}};
    auto held = WrapWithoutSandbox(command, policy_, {"test", /*landlock=*/true});
    EXPECT_TRUE(held.ok()) << held.status();
    if (!held.ok()) return {};
    auto report = RunToCompletion(*held, absl::Seconds(60));
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : ExitReport();
  }

  std::optional<TemporaryDirectory> directory_;
  fs::path work_;
  SandboxPolicy policy_;
};

TEST_F(InPlace, RunsAProgramAndReportsItsStatus) {
  const ExitReport report = Run("echo hello; exit 7");
  EXPECT_EQ(report.stdout_text, "hello\n") << report.stderr_text;
  EXPECT_EQ(report.exit_code, 7);
}

TEST_F(InPlace, ReadsNothingButTheSystemAndThePolicy) {
  for (const char* path :
       {"/etc/passwd", "/etc/hostname", "$OUTSIDE/secret", "/proc/self/environ", "/proc/$PPID/environ"})
    EXPECT_EQ(Run(absl::StrCat("cat ", path, " && echo read")).stdout_text, "") << path;
  for (const char* path : {"/etc", "/root", "/home", "/tmp", "/proc", "/"})
    EXPECT_EQ(Run(absl::StrCat("ls ", path, " && echo read")).stdout_text, "") << path;
  policy_.read_only = {{directory_->path() / "secret", "/in"}};
  EXPECT_EQ(Run("cat $OUTSIDE/secret").stdout_text, "secret");
}

TEST_F(InPlace, ACompilerIncludesNothingOfTheHost) {
  std::ofstream(work_ / "honest.cc") << "#include <vector>\nint f() { return std::vector<int>{1}.front(); }\n";
  std::ofstream(work_ / "hostile.cc") << "#include \"/etc/passwd\"\n";
  const ExitReport honest = Run("g++ -c $WORK/honest.cc -o $WORK/honest.o");
  EXPECT_TRUE(honest.Succeeded()) << honest.stderr_text;
  const ExitReport hostile = Run("g++ -E $WORK/hostile.cc");
  EXPECT_FALSE(hostile.Succeeded());
  EXPECT_THAT(hostile.stderr_text, HasSubstr("/etc/passwd: Permission denied"));
  EXPECT_THAT(hostile.stdout_text, Not(HasSubstr("root:")));
}

TEST_F(InPlace, WritesOnlyWhereThePolicyAllows) {
  const ExitReport report = Run(
      "for d in /tmp $OUTSIDE $HOME /usr/local /dev/shm /var/tmp; do touch $d/x 2>/dev/null && echo wrote $d; done; "
      "echo new >$OUTSIDE/secret; rm -f $OUTSIDE/secret; mv $WORK $OUTSIDE/moved; ln $OUTSIDE/secret $WORK/link; "
      "ln -s $OUTSIDE/secret $WORK/soft; cat $WORK/soft; truncate -s 0 $OUTSIDE/secret; "
      "mkdir $WORK/a $WORK/b && echo x >$WORK/a/made && mv $WORK/a/made $WORK/b/made && echo fine");
  EXPECT_EQ(report.stdout_text, "fine\n") << report.stderr_text;
  EXPECT_EQ(*ReadFile(directory_->path() / "secret"), "secret");
  EXPECT_TRUE(fs::exists(work_ / "b/made"));
}

TEST_F(InPlace, ChangesNeitherModesNorTimes) {
  std::ofstream(work_ / "file") << "x";
  ASSERT_EQ(chmod((work_ / "file").c_str(), 0640), 0);
  EXPECT_EQ(Run("chmod 777 $WORK/file $OUTSIDE/secret; touch -d 2001-01-01 $OUTSIDE/secret; echo end").stdout_text,
            "end\n");
  struct stat info;
  ASSERT_EQ(stat((work_ / "file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(InPlace, OpensNoSocket) {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = absl::StrCat(ntohs(address.sin_port));
  EXPECT_EQ(Run(absl::StrCat("exec 3<>/dev/tcp/127.0.0.1/", port, " && echo connected")).stdout_text, "");
  EXPECT_EQ(Run(absl::StrCat("exec 3<>/dev/udp/127.0.0.1/", port, " && echo connected")).stdout_text, "");
}

TEST_F(InPlace, SignalsAndLeavesNobody) {
  EXPECT_EQ(Run("kill -0 $PPID && echo reached").stdout_text, "");
  EXPECT_EQ(Run("setsid true && echo left").stdout_text, "");
  if (LandlockVersion() < 6) GTEST_SKIP() << "older than Linux 6.12: no signal at all leaves the program";
  EXPECT_EQ(Run("sleep 60 & kill $! && echo own").stdout_text, "own\n");
}

TEST_F(InPlace, HasNoCapabilities) {
  const ExitReport report = Run("setpriv --dump");
  EXPECT_THAT(report.stdout_text, HasSubstr("no_new_privs: 1"));
  EXPECT_THAT(report.stdout_text, HasSubstr("Capability bounding set: [none]"))
      << "as root; as a user it cannot be used";
  EXPECT_EQ(Run("unshare -U true && echo made; unshare -m true && echo made").stdout_text, "");
}

TEST_F(InPlace, AProgramBesidesThePolicyDoesNotRun) {
  std::ofstream(directory_->path() / "tool") << "#!/bin/sh\necho ran\n";
  ASSERT_EQ(chmod((directory_->path() / "tool").c_str(), 0755), 0);
  EXPECT_EQ(Run("$OUTSIDE/tool; sh $OUTSIDE/tool").stdout_text, "");
}

TEST_F(InPlace, BoundsProcessesOfAnOrdinaryUser) {
  if (geteuid() == 0) GTEST_SKIP() << "the kernel does not bound root's";
  policy_.processes = 8;
  const ExitReport report = Run("for i in $(seq 40); do sleep 5 & done 2>&1; jobs -p | wc -l");
  EXPECT_THAT(report.stdout_text + report.stderr_text, HasSubstr("Resource temporarily unavailable"));
}

// As on older kernels: asked for less, this one refuses less, and the filter must make up for it.
TEST_F(InPlace, HoldsTheSameWithEveryOlderVersion) {
  const std::string script =
      "cat $OUTSIDE/secret /etc/passwd; echo x >$OUTSIDE/secret; truncate -s 0 $OUTSIDE/secret; rm -f $OUTSIDE/secret; "
      "exec 3<>/dev/tcp/127.0.0.1/1; kill -0 $PPID && echo reached; setsid true && echo left; "
      "echo x >$WORK/made && rm $WORK/made && echo fine";
  for (int version = 1; version <= LandlockVersion(); ++version) {
    Command command;
    command.argv = {"/bin/bash", "-c", script};
    command.environment = {{"PATH", "/usr/bin:/bin"}, {"OUTSIDE", directory_->path()}, {"WORK", work_}};
    ASSERT_TRUE(sandbox_internal::HoldInPlace(policy_, command, version).ok()) << version;
    const auto report = RunToCompletion(command, absl::Seconds(60));
    ASSERT_TRUE(report.ok()) << version << ": " << report.status();
    EXPECT_EQ(report->stdout_text, "fine\n") << version << ": " << report->stderr_text;
    EXPECT_EQ(*ReadFile(directory_->path() / "secret"), "secret") << version;
  }
}

TEST_F(InPlace, NamesAPathThatIsMissing) {
  policy_.read_only = {{"/no/such/path", "/in"}};
  Command command;
  command.argv = {"/bin/true"};
  const auto held = WrapWithoutSandbox(command, policy_, {"test", true});
  EXPECT_EQ(held.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(held.status().message()), HasSubstr("/no/such/path"));
}

// Under root the other tests ran as root; all of them must hold for an ordinary user too.
TEST(OrdinaryUser, IsHeldInPlaceTheSameWay) {
  if (geteuid() != 0) GTEST_SKIP() << "the other tests already ran as an ordinary user";
  if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  Command command;
  command.argv = {"/usr/bin/setpriv",
                  "--reuid",
                  "12346",
                  "--regid",
                  "12346",
                  "--clear-groups",
                  fs::read_symlink("/proc/self/exe").string(),
                  "--gtest_filter=InPlace.*-*HasNoCapabilities"};
  command.environment = {{"PATH", "/usr/bin:/bin"}};
  const auto report = RunToCompletion(command, absl::Seconds(100));
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->Succeeded()) << DescribeExit(*report) << report->stdout_text << report->stderr_text;
}

}  // namespace
}  // namespace sassay
