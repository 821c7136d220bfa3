# SPDX-License-Identifier: Apache-2.0
# cmake --install: header, libraries, command, pkg-config file, CMake package.
install(TARGETS netweight_shared netweight_static netweight_flags EXPORT netweight-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/netweight.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
