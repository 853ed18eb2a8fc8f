# What `cmake --install BUILD --prefix P` puts below P, in two components:
#   runtime      the program, its manual page and completions, libstair.so.0
#   development  headers, libstair.a, libstair.so, stair.pc, the CMake package
# Nothing installed knows where it was built or where P is: P may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS stair_program COMPONENT runtime)
if(STAIR_HAS_MPI)
  install(TARGETS stair_mpi COMPONENT mpi)
endif()
install(TARGETS stair_shared EXPORT shared
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS stair EXPORT static
  ARCHIVE COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development) # stair.h includes the others
install(FILES ${share}/man/man1/stair.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
install(FILES ${share}/bash-completion/completions/stair
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime)
install(FILES ${share}/zsh/site-functions/_stair DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT runtime)
install(FILES ${share}/fish/vendor_completions.d/stair.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)
# The questions behind `stair figure fig3-right`.
install(FILES data/questions.label data/vocab.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/stair COMPONENT runtime)

# pkg-config: paths are relative to where stair.pc lies.
set(pc_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix /P/${pc_folder} /P)
if(STAIR_THREADS)
  set(pc_threads " -pthread")
endif()
if(STAIR_HAS_CUDA)
  set(pc_cuda " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
endif()
configure_file(cmake/stair.pc.in ${CMAKE_BINARY_DIR}/stair.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/stair.pc DESTINATION ${pc_folder} COMPONENT development)

# CMake: Stair::stair is the shared library, Stair::stair_static the other, for whose needs a user must look.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Stair)
set_target_properties(stair_shared PROPERTIES EXPORT_NAME stair)
set_target_properties(stair PROPERTIES EXPORT_NAME stair_static)
foreach(kind shared static)
  install(EXPORT ${kind} NAMESPACE Stair:: FILE Stair_${kind}.cmake DESTINATION ${package_folder} COMPONENT development)
endforeach()
configure_package_config_file(cmake/StairConfig.cmake.in ${CMAKE_BINARY_DIR}/StairConfig.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/StairConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/StairConfig.cmake ${CMAKE_BINARY_DIR}/StairConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
