# `cpack` makes a Debian package of what `cmake --install` installs: scripts/package.sh.
# Dependencies on libraries are found by dpkg-shlibdeps (package_dependencies.cmake); mpirun and the files that it needs
# are openmpi-bin's.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the maintainers of lockstep <maintainers@lockstep.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed data-parallel training on simulated accelerators")
set(CPACK_PACKAGE_DESCRIPTION
  "Trains models with any number of ranks under Open MPI, with the same bits on each number.\n\
 The package has the program, the library with its headers, the documents and example configs.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package_dependencies.cmake)
# Programs find the library by its name as soon as the package is there.
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)
# To build on the library: its headers include fmt's.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, libfmt-dev, python3-h5py")
include(CPack)
