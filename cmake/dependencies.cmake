# Debian 12 packages only; scripts/install_deps.sh installs them.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
# The system's Python, which has the modules that Debian packages.
find_program(LOCKSTEP_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(Protobuf REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options context)
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI REQUIRED COMPONENTS C)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET hdf5-serial)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(ICU REQUIRED IMPORTED_TARGET icu-uc)

find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR dnnl.hpp REQUIRED)
add_library(dnnl_external INTERFACE)
target_link_libraries(dnnl_external INTERFACE ${DNNL_LIBRARY})
target_include_directories(dnnl_external SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})

find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
find_path(RAPIDCHECK_INCLUDE_DIR rapidcheck.h REQUIRED)
add_library(rapidcheck INTERFACE)
target_link_libraries(rapidcheck INTERFACE ${RAPIDCHECK_LIBRARY})
target_include_directories(rapidcheck SYSTEM INTERFACE ${RAPIDCHECK_INCLUDE_DIR})

find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)

# LLVM's code generator as one shared library; other versions may be installed beside it.
find_library(LLVM_LIBRARY LLVM-19 HINTS /usr/lib/llvm-19/lib REQUIRED)
find_path(LLVM_INCLUDE_DIR llvm/IR/IRBuilder.h HINTS /usr/lib/llvm-19/include REQUIRED NO_DEFAULT_PATH)
add_library(llvm_external INTERFACE)
target_include_directories(llvm_external SYSTEM INTERFACE ${LLVM_INCLUDE_DIR})
# Or as archives, of which a program gets what it calls: see lockstep_starts_fast. They need libzstd, without its headers:
# the shared library is never installed without it.
find_program(LLVM_CONFIG llvm-config HINTS /usr/lib/llvm-19/bin REQUIRED NO_DEFAULT_PATH)
execute_process(COMMAND ${LLVM_CONFIG} --link-static --libfiles nativecodegen runtimedyld object
  OUTPUT_VARIABLE llvm_archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(llvm_archives UNIX_COMMAND "${llvm_archives}")
find_library(LLVM_ZSTD_LIBRARY NAMES zstd libzstd.so.1 REQUIRED)
list(APPEND llvm_archives ${LLVM_ZSTD_LIBRARY} ZLIB::ZLIB ${CMAKE_DL_LIBS} Threads::Threads)
target_link_libraries(llvm_external INTERFACE
  "$<IF:$<BOOL:$<TARGET_PROPERTY:LOCKSTEP_STARTS_FAST>>,${llvm_archives},${LLVM_LIBRARY}>")
