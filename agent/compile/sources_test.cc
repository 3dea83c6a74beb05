#include "agent/compile/sources.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SourcesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) {
    fs::path path = directory_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path.string();
  }

  static std::vector<std::string> Paths(const absl::StatusOr<std::vector<sassay::v1::SourceFile>>& sources) {
    std::vector<std::string> paths;
    if (!sources.ok()) return {std::string(sources.status().message())};
    for (const auto& source : *sources) paths.push_back(source.path());
    return paths;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("sources-test");
};

TEST_F(SourcesTest, TakesAlongWhatAFileIncludes) {
  std::string kernel =
      Write("a/kernel.cu",
            "#include <cstdint>\n #  include \"lib/one.cuh\"\n#include \"../outside.h\"\n#include \"absent.h\"\n");
  Write("a/lib/one.cuh", "#include \"two.cuh\"\n");
  Write("a/lib/two.cuh", "#include \"one.cuh\"\n");
  Write("a/unrelated.cu", "");
  Write("outside.h", "");
  EXPECT_THAT(Paths(LoadSources({kernel})), ElementsAre("kernel.cu", "lib/one.cuh", "lib/two.cuh"));
}

TEST_F(SourcesTest, PipesAreRefusedAndNotWaitedFor) {
  const std::string kernel = Write("kernel.cu", "#include \"pipe.h\"\n"),
                    pipe = (directory_.path() / "pipe.cu").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(std::string(LoadSources({pipe}).status().message()), HasSubstr("pipe.cu is no regular file"));
  EXPECT_THAT(std::string(LoadSources({kernel, pipe}).status().message()), HasSubstr("pipe.cu is no regular file"));
}

TEST_F(SourcesTest, NamesThatToolsWouldMisreadAreToBeRenamed) {
  EXPECT_THAT(std::string(LoadSources({Write("my kernel.cu", "")}).status().message()), HasSubstr("rename the file"));
  EXPECT_THAT(std::string(LoadSources({Write("-x.cu", "")}).status().message()), HasSubstr("does not begin with -"));
}

TEST_F(SourcesTest, AnotherEncodingIsRefusedWithLineAndByte) {
  const std::string kernel = Write("kernel.cu", "// one\n// caf\xe9\n");
  EXPECT_EQ(LoadSources({kernel}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(LoadSources({kernel}).status().message()),
              ::testing::AllOf(HasSubstr("kernel.cu:2 is not UTF-8 (byte 0xe9 at column 7)"), HasSubstr("iconv")));
}

TEST_F(SourcesTest, LinksOutOfTheCandidatesFolderAreRefused) {
  Write("secret.h", "of this machine");
  const std::string kernel = Write("a/kernel.cu", "#include \"notes.h\"\n");
  fs::create_symlink(directory_.path() / "secret.h", directory_.path() / "a/notes.h");
  for (const std::string& path : {kernel, (directory_.path() / "a").string()}) {
    EXPECT_THAT(std::string(LoadSources({path}).status().message()), HasSubstr("symbolic link out of")) << path;
  }
  fs::remove(directory_.path() / "a/notes.h");
  Write("a/real.h", "");
  fs::create_symlink("real.h", directory_.path() / "a/notes.h");
  EXPECT_THAT(Paths(LoadSources({kernel})), ElementsAre("kernel.cu", "notes.h"));
}

TEST_F(SourcesTest, ReadsAFolderOrSeveralFiles) {
  std::string a = Write("a/x.cu", "1"), b = Write("a/sub/y.cuh", "2");
  Write("a/notes.txt", "no");
  Write("a/.git/z.cu", "no");
  EXPECT_THAT(Paths(LoadSources({(directory_.path() / "a").string()})), ElementsAre("sub/y.cuh", "x.cu"));
  EXPECT_THAT(Paths(LoadSources({a, b})), ElementsAre("sub/y.cuh", "x.cu"));
}

TEST_F(SourcesTest, ReadsAFlashInferSolution) {
  std::string solution = Write(
      "s.json", R"({"name": "n", "definition": "gemm", "spec": {"language": "cuda", "entry_point": "kernel.cu::run"},
    "sources": [{"path": "kernel.cu", "content": "int x;"}, {"path": "h.cuh", "content": ""}]})");
  auto sources = LoadSources({solution});
  EXPECT_THAT(Paths(sources), ElementsAre("h.cuh", "kernel.cu"));
  EXPECT_EQ((*sources)[1].content(), "int x;");
}

TEST_F(SourcesTest, NamesWhatIsWrong) {
  EXPECT_EQ(LoadSources({"/no/such/file.cu"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(LoadSources({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(LoadSources({Write("only.cuh", "")}).status().message()), HasSubstr("nothing to compile"));
  EXPECT_THAT(std::string(LoadSources({Write("we ird.cu", "")}).status().message()), HasSubstr("we ird.cu"));
}

TEST(ParseSolution, RefusesHostileSolutions) {
  for (const char* json :
       {"", "[]", "{", "{}", R"({"sources": 1})", R"({"sources": [1]})", R"({"sources": [{"path": "a.cu"}]})",
        R"({"sources": [{"path": 1, "content": "x"}]})", R"({"sources": []})",
        R"({"sources": [{"path": "../a.cu", "content": ""}]})", R"({"sources": [{"path": "/a.cu", "content": ""}]})",
        R"({"sources": [{"path": "a//b.cu", "content": ""}]})", R"({"sources": [{"path": "-o.cu", "content": ""}]})",
        R"({"sources": [{"path": "a\nb.cu", "content": ""}]})",
        R"({"sources": [{"path": "a.cu", "content": ""}, {"path": "a.cu", "content": ""}]})"}) {
    EXPECT_EQ(ParseSolution(json).status().code(), absl::StatusCode::kInvalidArgument) << json;
  }
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(ParseSolution("{\"sources\": " + deep + "}").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SourcesTest, StopsAtItsLimits) {
  std::string a = Write("a.cu", std::string(100, 'x')), b = Write("b.cu", std::string(100, 'x'));
  EXPECT_EQ(LoadSources({a, b}, {1, 1000}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LoadSources({a, b}, {10, 150}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sassay
