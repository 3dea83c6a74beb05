# One helper per kind of target. Sources are listed by name; nothing is globbed.
option(SASSAY_WERROR "Warnings are errors" OFF)
option(SASSAY_FUZZ "Build libFuzzer targets (needs clang)" OFF)
set(SASSAY_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")
set(SASSAY_TEST_OPTIONS "" CACHE STRING "How test programs alone are compiled, as -O0: what they test is in libraries")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")

find_program(SASSAY_CCACHE ccache)
if(SASSAY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SASSAY_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${SASSAY_CCACHE})
endif()

add_library(sassay_options INTERFACE)
target_compile_options(sassay_options INTERFACE -Wall -Wextra -Wno-unused-parameter $<$<BOOL:${SASSAY_WERROR}>:-Werror>
  # gcc 12 sees overlapping copies inside std::string that are not there (gcc bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
target_include_directories(sassay_options INTERFACE ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/gen)
if(SASSAY_SANITIZE)
  target_compile_options(sassay_options INTERFACE -fsanitize=${SASSAY_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(sassay_options INTERFACE -fsanitize=${SASSAY_SANITIZE})
  # gcc 12 sees uninitialised members in <regex> that are not there, under AddressSanitizer only (gcc bug 105562).
  target_compile_options(sassay_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # protobuf changes the layout of map fields under __SANITIZE_THREAD__; sassay_proto and libprotobuf are built without it.
  if(SASSAY_SANITIZE STREQUAL "thread")
    target_compile_options(sassay_options INTERFACE -U__SANITIZE_THREAD__ -DSASSAY_SANITIZE_THREAD)
    include(tsan)
  endif()
endif()
if(SASSAY_FUZZ)
  target_compile_options(sassay_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr)
  target_link_options(sassay_options INTERFACE -fsanitize=address,undefined)
endif()

# sassay_library(NAME SOURCES a.cc … DEPS t …): a static library; headers sit beside their sources.
function(sassay_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC sassay_options ${ARG_DEPS})
    sassay_use_precompiled(${name} sassay_precompiled)
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE sassay_options ${ARG_DEPS})
  endif()
endfunction()

add_custom_target(programs COMMENT "What is installed")
add_custom_target(gpu_tests COMMENT "Tests labelled gpu")

# sassay_binary(NAME SOURCES main.cc DEPS t … [COMPONENT c]): an installed program in build/<preset>/bin.
function(sassay_binary name)
  cmake_parse_arguments(ARG "" "COMPONENT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_COMPONENT)
    set(ARG_COMPONENT Unspecified)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE sassay_options ${ARG_DEPS})
  # An RPATH, unlike a RUNPATH, also serves the libraries that the program's libraries need: an installed folder travels.
  target_link_options(${name} PRIVATE LINKER:--disable-new-dtags)
  install(TARGETS ${name} RUNTIME_DEPENDENCY_SET sassay RUNTIME DESTINATION bin COMPONENT ${ARG_COMPONENT})
  add_dependencies(programs ${name})
endfunction()

# sassay_test(x_test SOURCES x_test.cc DEPS t … [LABELS gpu grpc slow] [WHOLE]): one GoogleTest program, found test by test; with WHOLE
# it runs once, for tests that share something that takes long to start. Those labelled `gpu` travel with the package's component
# gpu_tests.
function(sassay_test name)
  cmake_parse_arguments(ARG "WHOLE" "TIMEOUT" "SOURCES;DEPS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  # What may take long begins first (COST), so that nobody waits for it at the end.
  # The instrumented emulator takes ten times as long.
  if(SASSAY_SANITIZE)
    math(EXPR ARG_TIMEOUT "5 * ${ARG_TIMEOUT}")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE sassay_options ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${SASSAY_TEST_OPTIONS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  sassay_use_precompiled(${name} sassay_precompiled_tests)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if("gpu" IN_LIST ARG_LABELS)
    target_link_options(${name} PRIVATE LINKER:--disable-new-dtags)
    install(TARGETS ${name} RUNTIME_DEPENDENCY_SET sassay_gpu_tests
      RUNTIME DESTINATION tests COMPONENT gpu_tests EXCLUDE_FROM_ALL)
    add_dependencies(gpu_tests ${name})
  endif()
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT} ENVIRONMENT
      "SASSAY_TEST_BIN=${CMAKE_BINARY_DIR}/bin;SASSAY_TEST_SOURCE=${PROJECT_SOURCE_DIR};${ARG_ENVIRONMENT}")
    return()
  endif()
  include(GoogleTest)
  # Discovery expands these lists three times before they become properties (CMake 3.25): seven backslashes survive that.
  string(REPEAT "\\" 7 slashes)
  set(environment "SASSAY_TEST_BIN=${CMAKE_BINARY_DIR}/bin" "SASSAY_TEST_SOURCE=${PROJECT_SOURCE_DIR}" ${ARG_ENVIRONMENT})
  string(REPLACE ";" "${slashes};" environment "${environment}")
  string(REPLACE ";" "${slashes};" labels "${ARG_LABELS}")
  gtest_discover_tests(${name} TEST_PREFIX ${name}: DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT} ENVIRONMENT "${environment}")
endfunction()

# sassay_fuzz_target(x_fuzz SOURCES x_fuzz.cc DEPS t … [CORPUS dir]): a libFuzzer target; a short run is a test.
function(sassay_fuzz_target name)
  if(NOT SASSAY_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE sassay_options ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  # libFuzzer writes what it finds into the first folder, so that is never one of the source tree.
  set(found ${CMAKE_BINARY_DIR}/fuzz/corpus/${name})
  file(MAKE_DIRECTORY ${found})
  add_test(NAME ${name} COMMAND ${name} -max_total_time=10 -timeout=10 -rss_limit_mb=2048
    -artifact_prefix=${found}/ ${found} ${ARG_CORPUS})
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()

add_custom_target(bench COMMENT "Run every benchmark; each prints a table")

# sassay_benchmark(x_bench SOURCES x_bench.cc DEPS t …): a program of the `bench` target; never part of the tests.
function(sassay_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cc)
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE sassay_options ${ARG_DEPS} benchmark::benchmark)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  add_custom_target(run_${name} COMMAND ${name} DEPENDS ${name} USES_TERMINAL)
  add_dependencies(bench run_${name})
endfunction()

# sassay_test_kernels(NAME SOURCE testdata/x.cu FORM ptx|cubin ARCH compute_90): kernels that tests load, as x.ptx or x.cubin
# beside the test programs, with which they are installed.
function(sassay_test_kernels name)
  cmake_parse_arguments(ARG "" "SOURCE;FORM;ARCH" "" ${ARGN})
  get_filename_component(folder ${ARG_SOURCE} DIRECTORY)
  get_filename_component(file ${ARG_SOURCE} NAME)
  get_filename_component(stem ${ARG_SOURCE} NAME_WE)
  set(image ${CMAKE_BINARY_DIR}/tests/${stem}.${ARG_FORM})
  # The path in the line table is the file's name alone: the same wherever it is built.
  add_custom_command(
    OUTPUT ${image}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/tests
    COMMAND ${SASSAY_NVCC} -${ARG_FORM} -lineinfo -arch=${ARG_ARCH} -o ${image} ${file}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${folder}
    DEPENDS ${ARG_SOURCE}
    COMMENT "nvcc ${file}")
  add_custom_target(${name} DEPENDS ${image})
  install(FILES ${image} DESTINATION tests COMPONENT gpu_tests EXCLUDE_FROM_ALL)
endfunction()

# sassay_cuda_module(NAME SOURCE module.cu): device code of our own as a library. nvcc makes one fatbin of it, with SASS for
# sm_90a and PTX that the driver compiles for any GPU since sm_80; the program finds its bytes between the symbols NAME_begin
# and NAME_end. Arithmetic is exactly what the source says (no contraction), so that CPU and GPU give the same bits.
set(SASSAY_CUDA_MODULE_FLAGS -std=c++17 --fmad=false -I${PROJECT_SOURCE_DIR})
function(sassay_cuda_module name)
  cmake_parse_arguments(ARG "" "SOURCE" "" ${ARGN})
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
  add_custom_command(
    OUTPUT ${image}
    COMMAND ${SASSAY_NVCC} -fatbin ${SASSAY_CUDA_MODULE_FLAGS} -gencode arch=compute_90a,code=sm_90a
            -gencode arch=compute_80,code=compute_80 -MD -MF ${image}.d -MT ${image} -o ${image}
            ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE}
    DEPENDS ${ARG_SOURCE}
    DEPFILE ${image}.d
    COMMENT "nvcc ${ARG_SOURCE}"
    VERBATIM)
  sassay_embedded_library(${name} ${name} ${image})
endfunction()

# sassay_cuda_images(NAME SOURCE kernels.cu ARCHS sm_90a …): the same, but cubin and PTX of each architecture by themselves,
# between NAME_ARCH_cubin_begin and …_end, NAME_ARCH_ptx_begin and …_end.
function(sassay_cuda_images name)
  cmake_parse_arguments(ARG "" "SOURCE" "ARCHS" ${ARGN})
  set(embedded "")
  foreach(arch ${ARG_ARCHS})
    foreach(form cubin ptx)
      set(image ${CMAKE_CURRENT_BINARY_DIR}/${name}_${arch}.${form})
      add_custom_command(
        OUTPUT ${image}
        COMMAND ${SASSAY_NVCC} -${form} ${SASSAY_CUDA_MODULE_FLAGS} -arch=${arch} -MD -MF ${image}.d -MT ${image} -o ${image}
                ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE}
        DEPENDS ${ARG_SOURCE}
        DEPFILE ${image}.d
        COMMENT "nvcc ${ARG_SOURCE} (${arch} ${form})"
        VERBATIM)
      list(APPEND embedded ${name}_${arch}_${form} ${image})
    endforeach()
  endforeach()
  sassay_embedded_library(${name} ${embedded})
endfunction()

# sassay_embedded_library(NAME SYMBOL FILE [SYMBOL FILE …]): a library with the bytes of files, each between SYMBOL_begin and
# SYMBOL_end.
function(sassay_embedded_library name)
  set(sections "")
  set(images "")
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest symbol image)
    list(APPEND images ${image})
    string(CONFIGURE [[
.section .rodata
.balign 64
.global @symbol@_begin
.hidden @symbol@_begin
@symbol@_begin:
.incbin "@image@"
.global @symbol@_end
.hidden @symbol@_end
@symbol@_end:
.byte 0
.previous
]] section @ONLY)
    string(APPEND sections "${section}")
  endwhile()
  set(embedding ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${embedding} CONTENT "asm(R\"(\n@sections@)\");\n" @ONLY)
  # ccache sees the source alone, not what it includes behind the compiler's back.
  set_source_files_properties(${embedding} PROPERTIES OBJECT_DEPENDS "${images}")
  add_library(${name} STATIC ${embedding})
  set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
endfunction()
