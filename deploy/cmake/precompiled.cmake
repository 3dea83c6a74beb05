# Precompiled headers: what nearly every file includes is parsed once for all libraries and once for all tests. Halves the CPU
# time of a cold build (docs/measurements/2026-12-build-time.md). On in the release preset only: the others see to it that every
# file includes what it uses.
option(SASSAY_PRECOMPILED "Parse common headers once" OFF)

if(SASSAY_PRECOMPILED)
  # ccache compares the bytes of a precompiled header, and trusts that no __TIME__ is in it.
  if(SASSAY_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${SASSAY_CCACHE})
  endif()
  # Who includes them must be compiled with the same macros as they were.
  target_compile_options(sassay_options INTERFACE -pthread
    # gcc 12 forgets that these headers are the system's, and warns of std::string without cause (bug 105329). The other presets warn.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds>)
  set(standard <algorithm> <functional> <map> <memory> <string> <utility> <vector>)
  set(abseil <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/synchronization/mutex.h> <absl/time/time.h>
    <absl/types/optional.h>)
  set(protobuf <google/protobuf/message.h> <google/protobuf/map.h>)
  set(ours <sassay/v1/bundle.pb.h> <sassay/v1/control.pb.h> <sassay/v1/profiler.pb.h> <sassay/v1/trajectory.pb.h>
    <sassay/v1/verdict.pb.h>)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cc CONTENT "int main() {}\n")
  add_library(sassay_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_link_libraries(sassay_precompiled PRIVATE sassay_options sassay_proto)
  target_precompile_headers(sassay_precompiled PRIVATE ${standard} ${abseil} ${protobuf} ${ours})
  # As a program: its code is -fPIE.
  add_executable(sassay_precompiled_tests EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_link_libraries(sassay_precompiled_tests PRIVATE sassay_options sassay_proto GTest::gmock GTest::gtest)
  target_compile_options(sassay_precompiled_tests PRIVATE ${SASSAY_TEST_OPTIONS})
  set_target_properties(sassay_precompiled_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/CMakeFiles)
  target_precompile_headers(sassay_precompiled_tests PRIVATE <gmock/gmock.h> <gtest/gtest.h> ${standard} ${abseil} ${protobuf}
    ${ours})
endif()

# sassay_use_precompiled(TARGET sassay_precompiled|sassay_precompiled_tests)
function(sassay_use_precompiled name from)
  if(SASSAY_PRECOMPILED)
    target_precompile_headers(${name} REUSE_FROM ${from})
  endif()
endfunction()
