# Linked before absl, so that our calls of its locks pass through functions that tell ThreadSanitizer about them.
add_library(sassay_tsan_mutex STATIC ${PROJECT_SOURCE_DIR}/common/base/tsan_mutex.cc)
target_compile_options(sassay_tsan_mutex PRIVATE -Wall -Wextra -O1)
target_link_libraries(sassay_tsan_mutex PRIVATE absl::synchronization absl::time spdlog::spdlog
  ${CMAKE_DL_LIBS})
target_link_libraries(sassay_options INTERFACE sassay_tsan_mutex absl::synchronization absl::time)
