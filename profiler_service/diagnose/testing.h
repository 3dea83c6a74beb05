// For tests alone: what NVIDIA's tools printed on an H200.
#ifndef SASSAY_PROFILER_SERVICE_DIAGNOSE_TESTING_H_
#define SASSAY_PROFILER_SERVICE_DIAGNOSE_TESTING_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/files.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay::diagnose {

inline std::string RecordingPath(const std::string& name) {
  return std::string(std::getenv("SASSAY_TEST_SOURCE")) + "/profiler_service/diagnose/testdata/" + name;
}

inline std::string Recorded(const std::string& name) {
  auto content = ReadFile(RecordingPath(name));
  EXPECT_TRUE(content.ok()) << content.status();
  return content.value_or("");
}

// A bundle with the source that was recorded, each line being "line N".
inline v1::Bundle RecordedSource() {
  v1::Bundle bundle;
  v1::SourceFile& source = *bundle.add_sources();
  source.set_path("bad.cu");
  for (int line = 1; line < 120; ++line) *source.mutable_content() += "line " + std::to_string(line) + "\n";
  return bundle;
}

// An executable shell script at `folder`/NAME.
inline std::string Script(const std::filesystem::path& folder, const std::string& name, const std::string& body) {
  std::filesystem::create_directories(folder);
  const std::string path = folder / name;
  std::ofstream(path) << "#!/bin/sh\n" << body;
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  return path;
}

}  // namespace sassay::diagnose

#endif  // SASSAY_PROFILER_SERVICE_DIAGNOSE_TESTING_H_
