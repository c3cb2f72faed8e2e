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
# GCC collects garbage each time that its heap has grown from 128 MiB; a batch needs far more. Beginning at 3 GB
# saves a fifth of the time of large batches; the largest of the trainer takes 1.9 GB then.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("SHELL:--param ggc-min-heapsize=3000000")
endif()
# gold, which Debian's binutils have, links a program in a fifth of the time of the default linker.
find_program(LOCKSTEP_GOLD ld.gold)
if(LOCKSTEP_GOLD)
  add_link_options(-fuse-ld=gold)
endif()

# Most of the time that a small source takes goes into headers and the templates that they instantiate. So sources are
# compiled several at once, in files that include them. Three things follow. Names in unnamed namespaces must differ
# within a library or test: scripts/check_definitions.py sees to it. What a source forgot to include, one before it in
# the batch may have included: the dev preset, with a size of 1, compiles every source by itself, and rebuilds the least
# after an edit. And its compile_commands.json is the one that names all sources.
#
# Larger batches take less time of all cores together, smaller ones keep more cores busy.
set(LOCKSTEP_BATCH_SIZE auto CACHE STRING "How many sources are compiled at once at most, or auto: by this machine's cores")
if(LOCKSTEP_BATCH_SIZE STREQUAL "auto")
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR lockstep_batch_size "128 / ${cores}")
  if(lockstep_batch_size LESS 8)
    set(lockstep_batch_size 8)
  elseif(lockstep_batch_size GREATER 64)
    set(lockstep_batch_size 64)
  endif()
else()
  set(lockstep_batch_size ${LOCKSTEP_BATCH_SIZE})
endif()

# lockstep_batches(<out> <file>...) sets <out> to what is compiled in place of the files: batches of neighbours, of equal
# size, whose paths are relative to the source tree, so that compiler caches serve another clone: those of CMake's
# UNITY_BUILD are absolute.
function(lockstep_batches out)
  list(LENGTH ARGN count)
  if(lockstep_batch_size LESS_EQUAL 1 OR count EQUAL 0)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  math(EXPR number "(${count} + ${lockstep_batch_size} - 1) / ${lockstep_batch_size}")
  set(batches "")
  math(EXPR last "${number} - 1")
  foreach(i RANGE ${last})
    math(EXPR first "${i} * ${count} / ${number}")
    math(EXPR size "(${i} + 1) * ${count} / ${number} - ${first}")
    list(SUBLIST ARGN ${first} ${size} files)
    set(text "")
    foreach(file ${files})
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    set(batch ${CMAKE_CURRENT_BINARY_DIR}/batch_${i}.cpp)
    file(CONFIGURE OUTPUT ${batch} CONTENT "${text}")
    list(APPEND batches ${batch})
  endforeach()
  set(${out} ${batches} PARENT_SCOPE)
endfunction()

# What options a source of a batch is given later would not reach the compiler.
function(lockstep_check_batched)
  foreach(source ${ARGN})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      message(FATAL_ERROR "${source}: COMPILE_OPTIONS must be set before lockstep_library is called")
    endif()
  endforeach()
endfunction()

# Compiler flags of libraries in which little of a step's time is spent. -Og compiles in about 0.7 of the time of -O1, and
# recording a step of configs/bench/gpt_micro.yaml takes the host 0.74 ms in place of 0.70. With sanitizers, they also leave
# out the checks of alignment, as these sources hardly cast bytes to numbers. What no source is checked for (null pointers,
# objects that are too small or of another type) ends a test by itself or is found by the address sanitizer. All of it
# halves time and memory of the largest batch, which took 104 s and 3.9 GB.
set(LOCKSTEP_COLD_FLAGS "" CACHE STRING "Compiler flags of libraries in which little of a step's time is spent")

# lockstep_library(<name> [COLD] [DEPS <public targets>] [FOREIGN <private foreign targets>])
# builds lockstep_<name> from this folder's and its subfolders' sources. Those with COMPILE_OPTIONS of their own, and
# those with SKIP_UNITY_BUILD_INCLUSION, are compiled alone; both are set before this call. COLD: with
# LOCKSTEP_COLD_FLAGS.
function(lockstep_library name)
  cmake_parse_arguments(ARG "COLD" "" "DEPS;FOREIGN" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(NOT sources)  # header-only so far
    add_library(lockstep_${name} INTERFACE)
    target_link_libraries(lockstep_${name} INTERFACE lockstep_flags)
    return()
  endif()
  set(alone "")
  foreach(source ${sources})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(skipped ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(options OR skipped)
      list(APPEND alone ${source})
    endif()
  endforeach()
  if(alone)
    list(REMOVE_ITEM sources ${alone})
  endif()
  cmake_language(EVAL CODE "cmake_language(DEFER CALL lockstep_check_batched ${sources})")
  lockstep_batches(batches ${sources})
  add_library(lockstep_${name} STATIC ${batches} ${alone})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_ALONE ${alone})
  # One compilation serves the programs of this tree and the shared library, which shows what LOCKSTEP_API marks. Calls
  # of what it shows need no detour either: nobody puts another function in its place.
  set_target_properties(lockstep_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(lockstep_${name} PRIVATE -fno-semantic-interposition)
  if(ARG_COLD)
    target_compile_options(lockstep_${name} PRIVATE ${LOCKSTEP_COLD_FLAGS})
  endif()
  target_link_libraries(lockstep_${name} PUBLIC lockstep_flags fmt::fmt)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(lockstep_${name} PUBLIC lockstep_${dep})
  endforeach()
  target_link_libraries(lockstep_${name} PRIVATE ${ARG_FOREIGN})
endfunction()

# lockstep_starts_fast(<program>...): these get what they call of LLVM. Before main, the whole of it would take half of
# the 0.1 s of a start, for the addresses in its tables. The programs are 30 MB larger and take a second more to link, so
# it is for those that are started often.
function(lockstep_starts_fast)
  set_target_properties(${ARGN} PROPERTIES LOCKSTEP_STARTS_FAST ON)
  foreach(program ${ARGN})
    target_link_options(${program} PRIVATE -Wl,--gc-sections)
  endforeach()
endfunction()

# Compiler flags of test sources only. Most of their time would be spent on optimizing, and instrumenting, the templates
# of googletest and rapidcheck: the presets for tests do less of both there.
set(LOCKSTEP_TEST_FLAGS "" CACHE STRING "Compiler flags of test sources")

# The tests of `ctest -L unit`; scripts/test.sh builds them with sanitizers.
add_custom_target(unit_tests)

# Tests run a second time as if the machine had no AVX-512 where it has it; elsewhere that would be the same again.
file(STRINGS /proc/cpuinfo LOCKSTEP_HAS_AVX512 REGEX "^flags.* avx512f( |$)" LIMIT_COUNT 1)

# lockstep_test(<name> [AVX2 [BUT <tests>]] [COST <seconds>] [DEPS <targets>] [FOREIGN ...]) builds test_<name> from the
# .cpp files of this folder and its subfolders, but for those with a CMakeLists.txt of their own, and registers it with
# ctest under the label "unit". Tests run in the source folder and name files relative to it: an absolute path in a
# definition would keep compiler caches from serving another clone. AVX2: the tests run a second time, as <name>_avx2, as
# if the machine had no AVX-512. BUT: patterns of googletest for those that would do the same there once more. COST: about
# how long they take (by default 1 s); ctest begins with the longest. Under ctest, properties draw from a fixed seed: what
# fails there was broken by the last change. scripts/fuzz_properties.sh draws new cases.
function(lockstep_test name)
  cmake_parse_arguments(ARG "AVX2" "COST;BUT" "DEPS;FOREIGN" ${ARGN})
  set(here ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${here} ${here}/*.cpp)
  file(GLOB_RECURSE others CONFIGURE_DEPENDS RELATIVE ${here} ${here}/*/CMakeLists.txt)
  foreach(other ${others})
    get_filename_component(folder ${other} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  if(NOT sources)
    return()
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 1)
  endif()
  list(TRANSFORM sources PREPEND ${here}/)
  lockstep_batches(batches ${sources})
  add_executable(test_${name} ${batches})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(test_${name} PRIVATE lockstep_${dep})
  endforeach()
  target_link_libraries(test_${name} PRIVATE ${ARG_FOREIGN} rapidcheck GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE LOCKSTEP_SOURCE_DIR=".")
  target_compile_options(test_${name} PRIVATE ${LOCKSTEP_TEST_FLAGS})
  add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300 COST "${ARG_COST}" ENVIRONMENT RC_PARAMS=seed=1)
  if(ARG_AVX2 AND LOCKSTEP_HAS_AVX512)
    add_test(NAME ${name}_avx2 COMMAND test_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name}_avx2 PROPERTIES LABELS avx2 TIMEOUT 300 COST "${ARG_COST}"
                         ENVIRONMENT "LOCKSTEP_MAX_ISA=avx2;RC_PARAMS=seed=1;GTEST_FILTER=-${ARG_BUT}")
  endif()
  add_dependencies(unit_tests test_${name})
endfunction()
