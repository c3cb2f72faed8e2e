# Man pages and completions, made by the program itself when it is built:
#   share/man/man1: lockstep(1), and a page for each command
#   share/bash-completion/completions/lockstep, share/zsh/site-functions/_lockstep
set(reference_folder ${PROJECT_BINARY_DIR}/generated/reference)
add_custom_command(OUTPUT ${reference_folder}/made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${reference_folder}
  COMMAND ${LOCKSTEP_PYTHON} -B ${PROJECT_SOURCE_DIR}/scripts/make_reference.py $<TARGET_FILE:lockstep>
    --install ${reference_folder}
  COMMAND ${CMAKE_COMMAND} -E touch ${reference_folder}/made
  DEPENDS lockstep ${PROJECT_SOURCE_DIR}/scripts/make_reference.py
  COMMENT "Making man pages and completions" VERBATIM)
add_custom_target(install_reference ALL DEPENDS ${reference_folder}/made)

install(DIRECTORY ${reference_folder}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${reference_folder}/completions/lockstep DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${reference_folder}/site-functions/_lockstep DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
