# Everything comes from packages that deploy/install_dependencies.sh installs.
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(CURL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(GTest CONFIG REQUIRED)
find_package(benchmark CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)

# The CUDA toolkit gives headers and nvcc; nothing of it is linked. deploy/install_dependencies.sh puts it into .venv where
# the machine has none.
find_path(SASSAY_CUDA_INCLUDE cuda.h
  HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include ${PROJECT_SOURCE_DIR}/.venv/cuda/include REQUIRED)
find_program(SASSAY_NVCC nvcc
  HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin ${PROJECT_SOURCE_DIR}/.venv/cuda/bin REQUIRED)

# Linked statically into the capture runtime, which lives in the candidate's process and shows it no symbols of ours.
find_library(SASSAY_SECCOMP_ARCHIVE libseccomp.a REQUIRED)
find_library(SASSAY_FFI_ARCHIVE NAMES libffi_pic.a libffi.a REQUIRED)
# Reads the candidate's debug information, for source lines.
pkg_check_modules(libdw REQUIRED IMPORTED_TARGET libdw)

# What makes the sandbox travels along, changed to find its libraries beside it.
find_program(SASSAY_BUBBLEWRAP bwrap REQUIRED)
find_program(SASSAY_PATCHELF patchelf REQUIRED)
