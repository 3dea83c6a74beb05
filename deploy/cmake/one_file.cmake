# Programs that are one file: every library but glibc is linked into them (decision 0023).
#
# sassay_one_file(NAME): links the program NAME from archives. Its objects are those of every other target; only the link differs, and takes
# seconds. Sanitizers want their libraries shared, so there the program stays as it is.
if(NOT SASSAY_SANITIZE AND NOT SASSAY_FUZZ)
  set(SASSAY_ONE_FILE ON)
endif()

function(sassay_one_file name)
  if(NOT SASSAY_ONE_FILE)
    return()
  endif()
  target_link_libraries(${name} PRIVATE $<TARGET_OBJECTS:sassay_portable>)
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  set_target_properties(${name} PROPERTIES CXX_LINKER_LAUNCHER ${PROJECT_SOURCE_DIR}/deploy/cmake/link_archives.sh)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/deploy/cmake/link_archives.sh)
endfunction()
