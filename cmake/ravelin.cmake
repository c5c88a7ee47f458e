# The build rules that every folder shares.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(ravelin_options INTERFACE)
target_include_directories(ravelin_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(ravelin_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wno-missing-field-initializers
  -fno-omit-frame-pointer $<$<BOOL:${RAVELIN_WERROR}>:-Werror>
  # GCC 12 sees these two in std::string and std::optional where there is nothing to see (GCC bugs 105562 and 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(RAVELIN_SANITIZE)
  add_compile_options(-fsanitize=${RAVELIN_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RAVELIN_SANITIZE})
endif()

# A static library of Debian's, so that a program needs nothing but libc where it runs.
function(ravelin_static_package target archive header)
  find_library(${target}_ARCHIVE NAMES ${archive} REQUIRED)
  find_path(${target}_HEADER NAMES ${header} REQUIRED)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${target}_ARCHIVE}
    INTERFACE_INCLUDE_DIRECTORIES ${${target}_HEADER} INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS}")
endfunction()

# ravelin_library(NAME SOURCES file... USES target...): the static library of one folder.
function(ravelin_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  add_library(ravelin_${name} STATIC ${arg_SOURCES})
  target_link_libraries(ravelin_${name} PUBLIC ravelin_options ${arg_USES})
endfunction()

# ravelin_program(NAME SOURCES file... USES target...): an installed program that needs nothing but libc.
function(ravelin_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ravelin_options ${arg_USES})
  if(NOT RAVELIN_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  install(TARGETS ${name} RUNTIME COMPONENT ${name})
endfunction()

# ravelin_unit_test(FOLDER [SOURCES file...] USES target...): one doctest program, unit_FOLDER, of all *_test.cc files here.
function(ravelin_unit_test folder)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  file(GLOB tests CONFIGURE_DEPENDS *_test.cc)
  add_executable(unit_${folder} ${CMAKE_SOURCE_DIR}/tests/unit/main.cc ${tests} ${arg_SOURCES})
  target_include_directories(unit_${folder} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(unit_${folder} PRIVATE ravelin_options ${arg_USES})
  add_test(NAME unit_${folder} COMMAND unit_${folder})
endfunction()
