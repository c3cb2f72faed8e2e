# lockstep for other projects: the files that `cmake --install` puts below the prefix.
#   bin/lockstep
#   lib/liblockstep.so.<version>, and lib/pkgconfig/lockstep.pc
#   lib/cmake/lockstep: find_package(lockstep) and the target lockstep::lockstep
#   include/lockstep: the headers that scripts/public_headers.py finds
#   share/lockstep/configs: configs to begin with
#   share/doc/lockstep: the documents and the examples
# Man pages and completions are in install_reference.cmake.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Versions are semantic: before 1.0, a new minor version may change anything.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set(compatibility SameMinorVersion)
else()
  set(compatible_version ${PROJECT_VERSION_MAJOR})
  set(compatibility SameMajorVersion)
endif()

set(objects "")
foreach(folder base ir trace passes kernels runtime nn observe engine collectives watch data checkpoint trainer)
  list(APPEND objects $<TARGET_OBJECTS:lockstep_${folder}>)
endforeach()
list(APPEND objects $<TARGET_OBJECTS:lockstep_commit>)
add_library(lockstep_shared SHARED ${objects})
add_library(lockstep::lockstep ALIAS lockstep_shared)
set_target_properties(lockstep_shared PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME lockstep EXPORT_NAME lockstep
  VERSION ${PROJECT_VERSION} SOVERSION ${compatible_version} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
# Linking to lockstep_trainer brings the libraries that the objects need; it adds nothing of its
# own.
target_link_libraries(lockstep_shared PUBLIC fmt::fmt PRIVATE lockstep_trainer)
target_compile_features(lockstep_shared PUBLIC cxx_std_20)
target_link_options(lockstep_shared PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/liblockstep.map)
# gold shows a thread-local variable of Boost, whatever the map says.
if(LOCKSTEP_GOLD)
  target_link_options(lockstep_shared PRIVATE -fuse-ld=bfd)
endif()
set_property(TARGET lockstep_shared APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/liblockstep.map)
target_include_directories(lockstep_shared PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)
configure_package_config_file(cmake/lockstepConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/lockstepConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/lockstepConfigVersion.cmake
  COMPATIBILITY ${compatibility})
# Relative, like everything that is installed: the folder may be moved.
file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/lockstep.pc.in ${PROJECT_BINARY_DIR}/cmake/lockstep.pc @ONLY)

install(TARGETS lockstep)
install(TARGETS lockstep_shared EXPORT lockstepTargets)
install(EXPORT lockstepTargets NAMESPACE lockstep:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/cmake/lockstepConfig.cmake ${PROJECT_BINARY_DIR}/cmake/lockstepConfigVersion.cmake
  DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/cmake/lockstep.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/lockstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING
  PATTERN CMakeLists.txt PATTERN *.cpp PATTERN *.h PATTERN *.yaml PATTERN *.md PATTERN *.py)
