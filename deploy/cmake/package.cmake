# What `cmake --install` puts into a folder that travels: bin/ (sassay_binary), lib/ with every shared library that the service's programs and
# bubblewrap need, libexec/bwrap, share/sassay. glibc belongs to the host (2.36 or newer; the agent, one file, asks for 2.34), and so do the
# GPU driver's and NVIDIA's libraries, which are opened at run time. CPack packs the same tree, or the agent or the service alone.
#
#   cmake --install build/release --prefix FOLDER --strip             the package
#   cmake --install build/release --prefix FOLDER --strip --component gpu_tests   the `gpu` tests into FOLDER/tests beside it
#   cpack --config build/release/CPackConfig.cmake                    sassay-VERSION-Linux-x86_64.tar.gz
#   cpack --config build/release/CPackAgent.cmake                     sassay-agent: .tar.gz and .deb, of the component `agent`
#   cpack --config build/release/CPackService.cmake                   sassay-service: .deb in /opt/sassay, of the rest
# `programs` is what must be built; the tests need not be.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

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

# The licences of what is carried along: in lib/ and libexec/, and inside the agent.
install(CODE "
  set(folder \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX})
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/deploy/notices.sh \${folder}/share/sassay/third-party \${folder}/lib ${SASSAY_BUBBLEWRAP}
    COMMAND_ERROR_IS_FATAL ANY)")
if(SASSAY_ONE_FILE)
  install(CODE "
    foreach(program mini-ptx-agent mini-ptx-capture-host)
      file(STRINGS ${CMAKE_BINARY_DIR}/archives/\${program} archives)
      list(APPEND carried \${archives})
    endforeach()
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/deploy/notices.sh \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/sassay-agent/third-party
      \${carried} ${SASSAY_BUBBLEWRAP} ${CMAKE_BINARY_DIR}/agent/carried/tree/lib COMMAND_ERROR_IS_FATAL ANY)" COMPONENT agent)
endif()
install(FILES LICENSE DESTINATION share/doc/sassay-agent RENAME copyright COMPONENT agent)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/sassay-agent COMPONENT agent)

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
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};sassay;ALL;/")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Sassay developers <sassay@invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)

# sassay_package(NAME VARIABLE VALUE …): build/<preset>/CPackNAME.cmake, what the whole is with other values.
function(sassay_package name)
  set(text "include(${CMAKE_BINARY_DIR}/CPackConfig.cmake)\n")
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest variable value)
    string(REPLACE "|" ";" value "${value}")
    string(APPEND text "set(${variable} \"${value}\")\n")
  endwhile()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/CPack${name}.cmake CONTENT "${text}" @ONLY)
endfunction()
set(whole "${CMAKE_BINARY_DIR}|sassay")
sassay_package(Agent
  CPACK_GENERATOR TGZ|DEB
  CPACK_PACKAGE_NAME sassay-agent
  CPACK_PACKAGE_FILE_NAME sassay-agent-${PROJECT_VERSION}-Linux-x86_64
  CPACK_INSTALL_CMAKE_PROJECTS ${whole}|agent|/
  CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiles and captures CUDA kernels without a GPU and has them judged by a profiling service"
  CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.34)"
  CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, bubblewrap")
sassay_package(Service
  CPACK_GENERATOR DEB
  CPACK_PACKAGE_NAME sassay-service
  CPACK_INSTALL_CMAKE_PROJECTS ${whole}|Unspecified|/
  CPACK_PACKAGE_DESCRIPTION_SUMMARY "judges CUDA kernels on GPUs or an emulated device"
  CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), util-linux"
  CPACK_PACKAGING_INSTALL_PREFIX /opt/sassay)
