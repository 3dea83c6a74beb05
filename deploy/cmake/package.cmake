# What `cmake --install` puts into a folder that travels: bin/ (sassay_binary), lib/ with every shared library that the programs and
# bubblewrap need, libexec/bwrap, share/sassay. glibc belongs to the host (2.36 or newer), and so do the GPU driver's and NVIDIA's
# libraries, which are opened at run time. CPack packs the same tree.
#
#   cmake --install build/release --prefix FOLDER --strip             the package
#   cmake --install build/release --prefix FOLDER --strip --component gpu_tests   the `gpu` tests into FOLDER/tests beside it
#   cpack --config build/release/CPackConfig.cmake                    sassay-VERSION-Linux-x86_64.tar.gz
# `programs` is what must be built; the tests need not be.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
find_program(SASSAY_BUBBLEWRAP bwrap REQUIRED)
find_program(SASSAY_PATCHELF patchelf REQUIRED)

add_executable(sassay_bubblewrap IMPORTED)
set_target_properties(sassay_bubblewrap PROPERTIES IMPORTED_LOCATION ${SASSAY_BUBBLEWRAP})
install(IMPORTED_RUNTIME_ARTIFACTS sassay_bubblewrap RUNTIME_DEPENDENCY_SET sassay RUNTIME DESTINATION libexec)
# An RPATH, unlike a RUNPATH, also serves the libraries that its libraries need.
install(CODE "execute_process(COMMAND ${SASSAY_PATCHELF} --force-rpath --set-rpath \\\$ORIGIN/../lib
  \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/libexec/bwrap COMMAND_ERROR_IS_FATAL ANY)")

set(of_glibc "^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nss_.*|anl|mvec))\\.so")
set(of_ourselves "/lib/sassay-capture/")
install(RUNTIME_DEPENDENCY_SET sassay DESTINATION lib
  PRE_EXCLUDE_REGEXES ${of_glibc} POST_EXCLUDE_REGEXES ${of_ourselves})
install(RUNTIME_DEPENDENCY_SET sassay_gpu_tests DESTINATION lib COMPONENT gpu_tests EXCLUDE_FROM_ALL
  PRE_EXCLUDE_REGEXES ${of_glibc} POST_EXCLUDE_REGEXES ${of_ourselves})

# The licences of what is carried along.
install(CODE "execute_process(COMMAND ${PROJECT_SOURCE_DIR}/deploy/notices.sh \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}
  COMMAND_ERROR_IS_FATAL ANY)")

install(FILES LICENSE README.md SECURITY.md CHANGELOG.md CITATION.cff DESTINATION share/sassay)
install(DIRECTORY common/workload/definitions DESTINATION share/sassay FILES_MATCHING PATTERN *.json)
install(FILES agent/capture/devices/device_table.json DESTINATION share/sassay/devices)
# Made by deploy/package.sh; without them kernels of vendor libraries are known by name alone.
install(DIRECTORY ${CMAKE_BINARY_DIR}/vendor_kernels DESTINATION share/sassay OPTIONAL FILES_MATCHING PATTERN *.list)
# Not what deploy/compose/setup.sh has made here.
install(DIRECTORY deploy/compose deploy/grafana deploy/kubernetes deploy/prometheus deploy/slurm deploy/systemd
  DESTINATION share/sassay/deploy USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE PATTERN secrets EXCLUDE PATTERN state EXCLUDE PATTERN .env EXCLUDE PATTERN .gitignore EXCLUDE)
install(FILES docs/metrics.md docs/operations.md docs/trust_model.md DESTINATION share/sassay/docs)
install(DIRECTORY docs/cluster DESTINATION share/sassay/docs)
install(DIRECTORY agent/examples DESTINATION share/sassay FILES_MATCHING PATTERN *.cu PATTERN *.py PATTERN *.cuh PATTERN *.md)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_VENDOR "")
set(CPACK_STRIP_FILES ON)
set(CPACK_SYSTEM_NAME Linux-x86_64)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};sassay;Unspecified;/")
include(CPack)
