# Run by cpack over the staged files: the library must have just the symbols that the package's `symbols` file lists, since
# programs built against it take their dependency from there. New ones are added with the version that brings them.
file(GLOB_RECURSE library ${CPACK_TEMPORARY_DIRECTORY}/libppv2.so.1.*)
execute_process(
  COMMAND dpkg-gensymbols -plibppv2-1 -v${CPACK_PACKAGE_VERSION} -c4 -O -I${CMAKE_CURRENT_LIST_DIR}/symbols -e${library}
  RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "libppv2-1: the symbols are not those of deploy/debian/libppv2-1/symbols:\n${said}")
endif()
