# The Python package, in build/python/stair as it is installed: where python3 has cffi and NumPy.  The module
# finds libstair beside itself (here, and in a wheel) or where the system keeps libraries (Debian packages).
find_program(STAIR_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
set(STAIR_HAS_PYTHON OFF)
if(STAIR_PYTHON AND NOT STAIR_SANITIZE)
  execute_process(COMMAND ${STAIR_PYTHON} -c
    "import cffi, numpy, sysconfig, os; d = sysconfig.get_path('include'); assert os.path.exists(d + '/Python.h'); print(d, end='')"
    OUTPUT_VARIABLE python_include RESULT_VARIABLE missing ERROR_QUIET)
  if(missing)
    message(STATUS "no Python package: ${STAIR_PYTHON} has no cffi, NumPy or Python.h")
  else()
    set(STAIR_HAS_PYTHON ON)
  endif()
endif()
if(NOT STAIR_HAS_PYTHON)
  return()
endif()

set(python_to ${CMAKE_BINARY_DIR}/python/stair)
file(GLOB python_sources CONFIGURE_DEPENDS python/stair/*.py python/stair/*.pyi python/stair/py.typed)
set(python_copies "")
foreach(source ${python_sources})
  get_filename_component(name ${source} NAME)
  add_custom_command(OUTPUT ${python_to}/${name} COMMAND ${CMAKE_COMMAND} -E copy ${source} ${python_to}/${name}
    DEPENDS ${source} VERBATIM)
  list(APPEND python_copies ${python_to}/${name})
endforeach()

add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/python/_stair.c
  COMMAND ${STAIR_PYTHON} ${PROJECT_SOURCE_DIR}/python/build_stair.py ${CMAKE_BINARY_DIR}/python/_stair.c
  DEPENDS python/build_stair.py ${headers} VERBATIM)
add_library(stair_python MODULE ${CMAKE_BINARY_DIR}/python/_stair.c)
target_include_directories(stair_python SYSTEM PRIVATE ${python_include})
target_compile_definitions(stair_python PRIVATE Py_LIMITED_API)
target_compile_options(stair_python PRIVATE -w) # cffi's code, not ours
target_link_libraries(stair_python PRIVATE stair_shared)
set_target_properties(stair_python PROPERTIES PREFIX "" OUTPUT_NAME _stair SUFFIX .abi3.so
  LIBRARY_OUTPUT_DIRECTORY ${python_to} BUILD_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
add_custom_command(TARGET stair_python POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:stair_shared> ${python_to}/libstair.so.0 VERBATIM)
add_custom_target(python ALL DEPENDS stair_python ${python_copies})
