# SPDX-License-Identifier: Apache-2.0
# cmake --install: header, libraries, command, pkg-config file, CMake package, man pages,
# shell completions.

# ---- library ----
install(TARGETS netweight_shared netweight_static EXPORT netweight-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/netweight.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# ---- pkg-config: the prefix is computed where the file lies, so that
# `cmake --install --prefix` and a moved tree stay right ----
set(prefix ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${prefix})
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
file(RELATIVE_PATH pc_libdir ${prefix} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${prefix} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/netweight.pc.in netweight.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/netweight.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- CMake package ----
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/netweight)
configure_package_config_file(cmake/netweightConfig.cmake.in netweightConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(netweightConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT netweight-targets NAMESPACE netweight:: DESTINATION ${package_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/netweightConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/netweightConfigVersion.cmake
        DESTINATION ${package_dir})

# ---- man pages ----
find_program(SCDOC scdoc)
if(SCDOC)
  foreach(page IN ITEMS netweight.1 libnetweight.3)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/doc/${page}.scd)
    add_custom_command(OUTPUT ${page} DEPENDS ${source} VERBATIM
                       COMMAND ${SCDOC} < ${source} > ${page})
    string(REGEX REPLACE ".*[.]" "man" section ${page})
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${page}
            DESTINATION ${CMAKE_INSTALL_MANDIR}/${section})
    list(APPEND man_pages ${page})
  endforeach()
  add_custom_target(netweight_man ALL DEPENDS ${man_pages})
else()
  message(STATUS "scdoc not found: no man pages")
endif()

# ---- command and its completions, which it prints itself ----
if(NETWEIGHT_COMMAND)
  install(TARGETS netweight_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(STATUS "cross-compiling without an emulator: no shell completions")
  else()
    foreach(shell IN ITEMS bash zsh fish)
      add_custom_command(OUTPUT completion.${shell} DEPENDS netweight_command VERBATIM
                         COMMAND netweight_command --completions ${shell}
                                 > completion.${shell})
      list(APPEND completions completion.${shell})
    endforeach()
    add_custom_target(netweight_completions ALL DEPENDS ${completions})
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/completion.bash RENAME netweight
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/completion.zsh RENAME _netweight
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/completion.fish RENAME netweight.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()
