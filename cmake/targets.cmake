# One target per folder. Sources are globbed: a new file needs no edit here.

add_library(lockstep_flags INTERFACE)
target_include_directories(lockstep_flags INTERFACE ${PROJECT_SOURCE_DIR})
# -ffp-contract=off: the source decides whether a multiply-add is fused, not the optimizer;
# otherwise vector bodies and tails could round differently. -Werror=switch: switches over ops and
# dtypes are exhaustive and have no default.
target_compile_options(lockstep_flags INTERFACE -Wall -Wextra -Werror=switch -ffp-contract=off)
if(LOCKSTEP_WERROR)
  target_compile_options(lockstep_flags INTERFACE -Werror)
endif()

# lockstep_library(<name> [DEPS <public targets>] [FOREIGN <private foreign targets>])
# builds lockstep_<name> from this folder's and its subfolders' sources.
function(lockstep_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;FOREIGN" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(NOT sources)  # header-only so far
    add_library(lockstep_${name} INTERFACE)
    target_link_libraries(lockstep_${name} INTERFACE lockstep_flags)
    return()
  endif()
  add_library(lockstep_${name} STATIC ${sources})
  # One compilation serves the programs of this tree and the shared library, which exports what
  # LOCKSTEP_API marks. Calls of exported functions need no indirection either: nothing replaces
  # these functions.
  set_target_properties(lockstep_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(lockstep_${name} PRIVATE -fno-semantic-interposition)
  target_link_libraries(lockstep_${name} PUBLIC lockstep_flags fmt::fmt)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(lockstep_${name} PUBLIC lockstep_${dep})
  endforeach()
  target_link_libraries(lockstep_${name} PRIVATE ${ARG_FOREIGN})
endfunction()

# Compiler flags of test sources only. In a build with sanitizers most time would be spent on
# instrumenting and optimizing the templates of googletest and rapidcheck: presets with sanitizers
# do less of both there.
set(LOCKSTEP_TEST_FLAGS "" CACHE STRING "Compiler flags of test sources")

# The tests of `ctest -L unit`; scripts/test.sh builds them with sanitizers.
add_custom_target(unit_tests)

# lockstep_batches(<out> <file>...) joins up to six files each into one that includes them. Most
# compile time of a small source is spent on headers and the templates that they instantiate: in
# this way a folder's tests compile in 2/5 of the time. The files of one batch therefore need
# different names, in unnamed namespaces too. The paths are relative to the source tree, so that
# compiler caches work for another clone.
function(lockstep_batches out)
  set(batches "")
  list(LENGTH ARGN count)
  set(first 0)
  while(first LESS count)
    list(SUBLIST ARGN ${first} 6 files)
    set(text "")
    foreach(file ${files})
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    math(EXPR number "${first} / 6")
    set(batch ${CMAKE_CURRENT_BINARY_DIR}/batch_${number}.cpp)
    file(CONFIGURE OUTPUT ${batch} CONTENT "${text}")
    list(APPEND batches ${batch})
    math(EXPR first "${first} + 6")
  endwhile()
  set(${out} ${batches} PARENT_SCOPE)
endfunction()

# If the machine has AVX-512, tests run a second time without it; otherwise the second run would be
# the same.
file(STRINGS /proc/cpuinfo LOCKSTEP_HAS_AVX512 REGEX "^flags.* avx512f( |$)" LIMIT_COUNT 1)

# lockstep_test(<name> [AVX2] [DEPS <targets>] [FOREIGN ...]) builds test_<name> from this folder's
# .cpp files and registers it with ctest under the label "unit". Tests run in the source folder and
# name files relative to it: an absolute path in a definition would keep compiler caches from
# working for another clone. AVX2: the tests run a second time, as <name>_avx2, as if the machine
# had no AVX-512. Under ctest, properties draw from a fixed seed, so that a new failure comes from
# the last change. scripts/fuzz_properties.sh draws new cases.
function(lockstep_test name)
  cmake_parse_arguments(ARG "AVX2" "" "DEPS;FOREIGN" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    return()
  endif()
  lockstep_batches(batches ${sources})
  add_executable(test_${name} ${batches})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(test_${name} PRIVATE lockstep_${dep})
  endforeach()
  target_link_libraries(test_${name} PRIVATE ${ARG_FOREIGN} rapidcheck GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE LOCKSTEP_SOURCE_DIR=".")
  target_compile_options(test_${name} PRIVATE ${LOCKSTEP_TEST_FLAGS})
  add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT RC_PARAMS=seed=1)
  if(ARG_AVX2 AND LOCKSTEP_HAS_AVX512)
    add_test(NAME ${name}_avx2 COMMAND test_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name}_avx2 PROPERTIES LABELS avx2 TIMEOUT 300 
                         ENVIRONMENT "LOCKSTEP_MAX_ISA=avx2;RC_PARAMS=seed=1")
  endif()
  add_dependencies(unit_tests test_${name})
endfunction()
