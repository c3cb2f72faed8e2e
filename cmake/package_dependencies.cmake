# Run by cpack before it packs what it has installed: adds the Debian packages that the program and the library need to
# CPACK_DEBIAN_PACKAGE_DEPENDS. CPACK_DEBIAN_PACKAGE_SHLIBDEPS would do the same, but would first start `file` for each of
# some hundred pages and headers, which takes most of cpack's time.
find_program(dpkg_shlibdeps dpkg-shlibdeps REQUIRED)
file(GLOB programs ${CPACK_TEMPORARY_DIRECTORY}/usr/bin/*)
file(GLOB_RECURSE libraries ${CPACK_TEMPORARY_DIRECTORY}/usr/lib/*.so.${CPACK_PACKAGE_VERSION})
set(folder ${CPACK_TOPLEVEL_DIRECTORY}/dependencies)
file(WRITE ${folder}/debian/control "")  # which dpkg-shlibdeps wants to be there
execute_process(COMMAND ${dpkg_shlibdeps} --ignore-missing-info -O ${programs} ${libraries} WORKING_DIRECTORY ${folder}
  OUTPUT_VARIABLE found ERROR_VARIABLE error RESULT_VARIABLE result OUTPUT_STRIP_TRAILING_WHITESPACE)
file(REMOVE_RECURSE ${folder})
if(NOT result EQUAL 0 OR NOT found MATCHES "^shlibs:Depends=(.+)$")
  message(FATAL_ERROR "${dpkg_shlibdeps}: ${found}${error}")
endif()
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${CMAKE_MATCH_1}, ${CPACK_DEBIAN_PACKAGE_DEPENDS}")
