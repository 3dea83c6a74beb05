// The rules that keep the house in order, checked against the sources themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace sassay {
namespace {

namespace fs = std::filesystem;

const fs::path& Root() {
  static const fs::path root = SASSAY_SOURCE_DIR;
  return root;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Every source of the project, relative to the root, in order.
std::vector<std::string> Sources(const std::set<std::string>& endings) {
  std::vector<std::string> found;
  for (const char* top : {"proto", "common", "agent", "profiler_service", "monitor", "tests"}) {
    if (!fs::exists(Root() / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(Root() / top)) {
      if (entry.is_regular_file() && endings.count(entry.path().extension().string()) != 0) {
        found.push_back(fs::relative(entry.path(), Root()).string());
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string Text(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Quoted includes of one file, as written.
std::vector<std::string> Includes(const std::string& source) {
  std::vector<std::string> includes;
  std::istringstream lines(Text(Root() / source));
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.rfind("#include \"", 0) == 0 ? 10 : std::string::npos;
    if (begin != std::string::npos) includes.push_back(line.substr(begin, line.find('"', begin) - begin));
  }
  return includes;
}

std::string Part(const std::string& path, int index) {
  const fs::path whole(path);
  fs::path::iterator part = whole.begin();
  for (int i = 0; i < index && part != whole.end(); ++i) ++part;
  return part == whole.end() ? "" : part->string();
}

// A folder may include its own level and what lies below.
const std::map<std::string, int>& ServiceLevels() {
  static const std::map<std::string, int> levels = {
      {"api", 6},       {"store", 5},    {"queue", 5},     {"cluster", 5},          {"builder", 5}, {"pipeline", 4},
      {"admission", 3}, {"evaluate", 3}, {"sanitize", 3},  {"evidence", 3},         {"timing", 3},  {"verdict", 3},
      {"diagnose", 3},  {"runner", 2},   {"telemetry", 0}, {"scheduling", 0},       {"reuse", 4},   {"judge", 2},
      {"wire", 1},      {"device", 1},   {"emulator", 1},  {"reference_kernels", 3}};
  return levels;
}

TEST(Architecture, RolesIncludeOnlyProtoCommonAndThemselves) {
  const std::set<std::string> roles = {"agent", "profiler_service", "monitor"};
  for (const std::string& source : Sources({".h", ".cc"})) {
    const std::string top = Part(source, 0);
    if (top == "tests") continue;
    for (const std::string& include : Includes(source)) {
      const std::string target = Part(include, 0);
      if (roles.count(target) != 0) {
        EXPECT_EQ(target, top) << source << " includes " << include;
      }
    }
  }
}

TEST(Architecture, ServiceFoldersIncludeOnlyDownwards) {
  for (const std::string& source : Sources({".h", ".cc"})) {
    if (Part(source, 0) != "profiler_service") continue;
    const auto from = ServiceLevels().find(Part(source, 1));
    if (from == ServiceLevels().end()) {
      EXPECT_TRUE(Part(source, 2).empty()) << source << ": its folder is not in the table of levels";
      continue;  // main.cc
    }
    for (const std::string& include : Includes(source)) {
      if (Part(include, 0) != "profiler_service") continue;
      // The seam of queue and pipeline is a header of the pipeline, and the inner wire has generated headers.
      const auto to = ServiceLevels().find(Part(include, 1));
      ASSERT_NE(to, ServiceLevels().end()) << source << " includes " << include;
      EXPECT_LE(to->second, from->second) << source << " includes " << include;
    }
  }
}

TEST(Architecture, EveryTestFileIsBuilt) {
  for (const std::string& source : Sources({".cc"})) {
    if (!EndsWith(source, "_test.cc") && !EndsWith(source, "_fuzz.cc") && !EndsWith(source, "_bench.cc")) continue;
    const std::string stem = fs::path(source).stem().string();
    bool named = false;
    for (fs::path folder = fs::path(source).parent_path(); !folder.empty(); folder = folder.parent_path()) {
      const fs::path list = Root() / folder / "CMakeLists.txt";
      named |= fs::exists(list) && Text(list).find(stem) != std::string::npos;
    }
    EXPECT_TRUE(named) << source << " is named by no CMakeLists.txt";
  }
}

TEST(Architecture, EverySourceIsBuilt) {
  for (const std::string& source : Sources({".cc"})) {
    bool named = false;
    for (fs::path folder = fs::path(source).parent_path(); !folder.empty(); folder = folder.parent_path()) {
      const fs::path list = Root() / folder / "CMakeLists.txt";
      named |= fs::exists(list) && Text(list).find(fs::path(source).stem().string()) != std::string::npos;
    }
    EXPECT_TRUE(named) << source << " is named by no CMakeLists.txt";
  }
}

TEST(Architecture, HeadersSayWhyTheyExistAndAreGuarded) {
  for (const std::string& source : Sources({".h"})) {
    if (Part(source, 0) == "tests") continue;
    const std::string text = Text(Root() / source);
    EXPECT_EQ(text.rfind("//", 0), 0u) << source << " does not begin with a comment";
    EXPECT_TRUE(text.find("#ifndef SASSAY_") != std::string::npos || text.find("#pragma once") != std::string::npos)
        << source;
  }
}

TEST(Architecture, FilesStayReadable) {
  // Past 600 lines a file says why in its head ("long because …").
  for (const std::string& source : Sources({".h", ".cc"})) {
    const std::string text = Text(Root() / source);
    const long lines = std::count(text.begin(), text.end(), '\n');
    if (lines > 600) {
      EXPECT_NE(text.substr(0, 1500).find("long because"), std::string::npos) << source << " has " << lines << " lines";
    }
  }
}

TEST(Architecture, FoldersStaySmall) {
  std::map<std::string, int> files;
  for (const std::string& source : Sources({".h", ".cc"})) {
    if (!EndsWith(source, "_test.cc")) ++files[fs::path(source).parent_path().string()];
  }
  for (const auto& [folder, count] : files) EXPECT_LE(count, 24) << folder << " wants sub-folders";
}

// A cheat without a row is one whose defence nobody can name; a row without a file is a promise.
TEST(Architecture, EveryHostileCandidateHasItsRowAndEveryRowItsFiles) {
  const std::string table = Text(Root() / "tests/hostile/README.md");
  std::set<std::string> named, files;
  static const std::regex name(
      "`((?:agent/examples/blackwell|agent/"
      "examples|blackwell(?:/pair)?|capture|cheating|compile|gqa|hang|honest|hopper(?:/cluster|/distributed|/"
      "specialized)?|memory|"
      "numerics|tools)/\\w+)`");
  for (std::sregex_iterator found(table.begin(), table.end(), name), end; found != end; ++found) {
    const std::string path = (*found)[1];
    const bool example = path.rfind("agent/", 0) == 0;
    EXPECT_TRUE(!example || fs::exists(Root() / (path + ".cu"))) << path;
    if (!example) named.insert(path);
  }
  for (const auto& entry : fs::recursive_directory_iterator(Root() / "tests/hostile")) {
    const fs::path path = fs::relative(entry.path(), Root() / "tests/hostile");
    if (path.extension() == ".cu") files.insert((path.parent_path() / path.stem()).string());
  }
  EXPECT_EQ(named, files);
}

// The second and third word of "// expect: STATUS[,…] CODE[,…] …" and of "// on cuda: …"; empty where there is no such
// line.
std::pair<std::string, std::string> Promised(const fs::path& candidate, const std::string& kind) {
  static const std::regex line("// (expect|on cuda): (\\S+) (\\S+).*");
  std::istringstream lines(Text(candidate));
  std::smatch parts;
  for (std::string text; std::getline(lines, text) && text.rfind("//", 0) == 0;) {
    if (std::regex_match(text, parts, line) && parts[1] == kind) return {parts[2], parts[3]};
  }
  return {};
}

// Broken code for Hopper's and Blackwell's units: what its first line says it gets (tests/end_to_end/candidates_test
// holds it to that) is what a GPU shows, or the rule that was broken in words; hardware's word is in the second line.
TEST(HostileTest, FortyBrokenVariantsGetTheRightFindingAndNoneIsCorrectWhereHardwareIsWrong) {
  int variants = 0, right = 0;
  for (const char* folder : {"tests/hostile/hopper", "tests/hostile/blackwell"}) {
    for (const auto& entry : fs::recursive_directory_iterator(Root() / folder)) {
      const std::string name = entry.path().stem().string();
      if (entry.path().extension() != ".cu" || EndsWith(name, "_honest")) continue;
      ++variants;
      const auto [status, code] = Promised(entry.path(), "expect");
      const auto [gpu_status, gpu_code] = Promised(entry.path(), "on cuda");
      EXPECT_EQ(status.find("CORRECT") == 0, false) << entry.path() << ": broken, and CORRECT";
      const bool only_numbers = code.find("MISMATCH") == 0;
      right += !only_numbers || gpu_code.empty() || gpu_code.find("MISMATCH") != std::string::npos;
    }
  }
  EXPECT_GE(variants, 40);
  EXPECT_GE(10 * right, 9 * variants) << right << " of " << variants;
}

TEST(Architecture, SourcesAreListedByName) {
  for (const auto& entry : fs::recursive_directory_iterator(Root() / "deploy" / "cmake")) {
    EXPECT_EQ(Text(entry.path()).find("GLOB"), std::string::npos) << entry.path();
  }
  for (const char* top : {"proto", "common", "agent", "profiler_service", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(Root() / top)) {
      if (entry.path().filename() != "CMakeLists.txt") continue;
      EXPECT_EQ(Text(entry.path()).find("file(GLOB"), std::string::npos) << entry.path();
    }
  }
}

}  // namespace
}  // namespace sassay
