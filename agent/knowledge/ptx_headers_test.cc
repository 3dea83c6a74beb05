#include "agent/knowledge/ptx_headers.h"

#include <string>

#include "agent/knowledge/embedded_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using sassay::v1::SourceFile;
using ::testing::ElementsAre;

SourceFile Source(const std::string& path, const std::string& content) {
  SourceFile source;
  source.set_path(path);
  source.set_content(content);
  return source;
}

std::vector<std::string> PathsWithHeaders(std::vector<SourceFile> sources) {
  AddPtxHeaders(sources);
  std::vector<std::string> paths;
  for (const SourceFile& source : sources) paths.push_back(source.path());
  return paths;
}

TEST(PtxHeadersTest, ACandidateThatNamesNoHeaderStaysAsItIs) {
  EXPECT_THAT(PathsWithHeaders({Source("kernel.cu", "#include <cstdint>\n// sassay/ptx/ is a folder\n")}),
              ElementsAre("kernel.cu"));
}

TEST(PtxHeadersTest, AHeaderComesWithThoseThatItNeeds) {
  EXPECT_THAT(
      PathsWithHeaders({Source("kernel.cu", "#include <sassay/ptx/wgmma.cuh>\n")}),
      ElementsAre("kernel.cu", "sassay/ptx/common.cuh", "sassay/ptx/detail/operands.cuh", "sassay/ptx/wgmma.cuh"));
}

TEST(PtxHeadersTest, QuotesMacrosAndHeadersOfTheCandidateNameHeadersToo) {
  const std::vector<std::string> expected = {"a.cuh", "kernel.cu", "sassay/ptx/common.cuh", "sassay/ptx/mbarrier.cuh"};
  EXPECT_EQ(PathsWithHeaders({Source("a.cuh", "#include \"sassay/ptx/mbarrier.cuh\""), Source("kernel.cu", "")}),
            expected);
  EXPECT_EQ(PathsWithHeaders({Source("a.cuh", "#define HEADER <sassay/ptx/mbarrier.cuh>\n#include HEADER"),
                              Source("kernel.cu", "")}),
            expected);
}

TEST(PtxHeadersTest, ACandidatesOwnHeaderIsKept) {
  std::vector<SourceFile> sources = {Source("kernel.cu", "#include <sassay/ptx/common.cuh>"),
                                     Source("sassay/ptx/common.cuh", "// of an older agent")};
  AddPtxHeaders(sources);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[1].content(), "// of an older agent");
}

TEST(PtxHeadersTest, AddingTwiceAddsOnce) {
  std::vector<SourceFile> sources = {Source("kernel.cu", "#include <sassay/ptx/tma.cuh>")};
  AddPtxHeaders(sources);
  const size_t count = sources.size();
  AddPtxHeaders(sources);
  EXPECT_EQ(sources.size(), count);
}

}  // namespace
}  // namespace sassay::agent
