#include "common/base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fd.h"

namespace sassay {
namespace {

TEST(Files, WrittenContentIsReadBackAndNoTemporaryRemains) {
  auto directory = TemporaryDirectory::Create("files_test");
  ASSERT_TRUE(directory.ok());
  const auto path = directory->path() / "x";
  ASSERT_TRUE(WriteFileAtomically(path, "one").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "two").ok());
  EXPECT_EQ(*ReadFile(path), "two");
  const auto entries = std::filesystem::directory_iterator(directory->path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(Files, AFileThatIsReplacedKeepsItsModeAndOwner) {
  auto directory = TemporaryDirectory::Create("files_test");
  ASSERT_TRUE(directory.ok());
  const auto path = directory->path() / "x";
  ASSERT_TRUE(WriteFileAtomically(path, "one").ok());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const bool given_away = getuid() == 0 && chown(path.c_str(), 65534, 65534) == 0;
  ASSERT_TRUE(WriteFileAtomically(path, "two").ok());
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0640u);
  EXPECT_EQ(facts.st_uid, given_away ? 65534 : getuid());
  ASSERT_TRUE(WriteFileAtomically(path, "three", 0644).ok());
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0644u);
}

TEST(Files, MissingFileIsNotFoundAndNamesThePath) {
  const auto content = ReadFile("/nowhere/at/all");
  EXPECT_EQ(content.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(content.status().message().find("/nowhere/at/all"), std::string::npos);
}

TEST(Files, ReadingStopsAtTheLimit) {
  auto directory = TemporaryDirectory::Create("files_test");
  ASSERT_TRUE(directory.ok());
  const auto path = directory->path() / "x";
  ASSERT_TRUE(WriteFileAtomically(path, "0123456789").ok());
  EXPECT_EQ(ReadFile(path, 9).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(ReadFile(path, 10).ok());
}

TEST(Files, WhatAnUntrustedProgramLeftIsReadOnlyIfItIsARegularFile) {
  auto directory = TemporaryDirectory::Create("files_test");
  ASSERT_TRUE(directory.ok());
  const auto file = directory->path() / "file", link = directory->path() / "link", pipe = directory->path() / "pipe";
  ASSERT_TRUE(WriteFileAtomically(file, "content").ok());
  std::filesystem::create_symlink(file, link);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(*ReadUntrustedFile(file), "content");
  EXPECT_EQ(*ReadFile(link), "content");
  EXPECT_FALSE(ReadUntrustedFile(link).ok());
  EXPECT_EQ(ReadUntrustedFile(pipe).status().code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::resize_file(file, uint64_t{1} << 40);
  EXPECT_EQ(ReadUntrustedFile(file).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Files, ANamedFileIsWrittenWhereItsNameLeads) {
  const auto directory = TemporaryDirectory::Create("files_test");
  ASSERT_TRUE(directory.ok());
  const auto file = directory->path() / "file", link = directory->path() / "link", pipe = directory->path() / "pipe";
  std::filesystem::create_symlink("file", link);
  ASSERT_TRUE(WriteNamedFile(link, "one").ok());
  ASSERT_TRUE(WriteNamedFile(link, "two").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(*ReadFile(file), "two");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const UniqueFd reader(open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(WriteNamedFile(pipe, "three").ok());
  char text[6] = {};
  EXPECT_EQ(read(reader.get(), text, 5), 5);
  EXPECT_STREQ(text, "three");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_TRUE(WriteNamedFile("/dev/null", "four").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(WriteNamedFile(directory->path(), "five").code(), absl::StatusCode::kInvalidArgument);
}

TEST(Files, TemporaryDirectoryGoesAwayWithItsContent) {
  std::filesystem::path path;
  {
    auto directory = TemporaryDirectory::Create("files_test");
    ASSERT_TRUE(directory.ok());
    path = directory->path();
    ASSERT_TRUE(WriteFileAtomically(path / "x", "one").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Files, StateLiesWhereTheUserKeepsState) {
  setenv("HOME", "/home/ann", 1);
  setenv("XDG_STATE_HOME", "", 1);
  EXPECT_EQ(DefaultStateFolder(), "/home/ann/.local/state/sassay");
  setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(DefaultStateFolder(), "/state/sassay");
  unsetenv("XDG_STATE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(DefaultStateFolder(), "/var/lib/sassay");
}

}  // namespace
}  // namespace sassay
