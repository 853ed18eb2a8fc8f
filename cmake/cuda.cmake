# The backend for cards, src/cuda: built where nvcc is found.
#   -DSTAIR_CUDA=AUTO|ON|OFF            ON: or else an error; AUTO leaves it out of sanitized builds and wheels
#   -DSTAIR_CUDA_ARCHITECTURES="90"     machine code for these, and PTX of the first for newer cards
#   -DSTAIR_CUDA_FLAGS="-Xptxas -v"     more for nvcc
# STAIR_HAS_CUDA says whether.  No exceptions, no RTTI, no guards: C links it without the C++ library.  nvcc is called by custom commands: CUDA as a language of CMake would have every
# program linked by it, and with the C++ library.
set(STAIR_CUDA AUTO CACHE STRING "the backend for cards: ON, OFF, or AUTO where nvcc is found")
set(STAIR_CUDA_ARCHITECTURES 90 CACHE STRING "compute capabilities to compile for, such as 90 or 80;90")
set(STAIR_CUDA_FLAGS "" CACHE STRING "more flags for nvcc")
set(STAIR_HAS_CUDA OFF)
if(NOT STAIR_CUDA OR STAIR_MATH_ONLY OR (STAIR_CUDA STREQUAL "AUTO" AND
   (STAIR_SANITIZE OR STAIR_LIBRARY_ONLY OR CMAKE_CROSSCOMPILING OR NOT STAIR_THREADS)))
  return()
endif()

find_program(STAIR_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(STAIR_NVCC)
  get_filename_component(nvcc_folder ${STAIR_NVCC} REALPATH)
  get_filename_component(nvcc_folder ${nvcc_folder} DIRECTORY)
  set(CUDAToolkit_ROOT ${nvcc_folder}/..)
  find_package(CUDAToolkit QUIET)
endif()
if(STAIR_NVCC AND TARGET CUDA::cudart_static)
  set(STAIR_HAS_CUDA ON)
elseif(STAIR_CUDA STREQUAL "AUTO")
  message(STATUS "no nvcc: no backend for cards")
  return()
else()
  message(FATAL_ERROR "STAIR_CUDA=${STAIR_CUDA}, but there is no nvcc with its runtime library")
endif()

set(nvcc_flags -O3 -std=c++17 -D_XOPEN_SOURCE=700 -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
  -Xcompiler=-fPIC,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics,-Wall,-Wextra)
if(STAIR_WERROR)
  list(APPEND nvcc_flags -Xcompiler=-Werror --Werror=all-warnings)
endif()
list(GET STAIR_CUDA_ARCHITECTURES 0 first)
list(APPEND nvcc_flags -gencode=arch=compute_${first},code=compute_${first})
foreach(arch ${STAIR_CUDA_ARCHITECTURES})
  list(APPEND nvcc_flags -gencode=arch=compute_${arch},code=sm_${arch})
endforeach()
separate_arguments(more_flags UNIX_COMMAND "${STAIR_CUDA_FLAGS}")
list(APPEND nvcc_flags ${more_flags})

# stair_cuda_objects(LIST SOURCES...): appends the object of every .cu file to LIST.  What nvcc has run before
# main, to register kernels, is put where device.cu finds it: it is run when a card is first asked for, and a
# program that asks for none neither waits for it nor dies of its failed allocations.
function(stair_cuda_objects list)
  foreach(source ${ARGN})
    get_filename_component(name ${source} NAME)
    set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
    add_custom_command(OUTPUT ${object} COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda
      COMMAND ${STAIR_NVCC} ${nvcc_flags} -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
      COMMAND ${CMAKE_OBJCOPY} --rename-section .init_array=stair_cuda_begin,alloc,load,data,contents ${object}
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "Building CUDA object ${name}.o" VERBATIM)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    list(APPEND ${list} ${object})
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()
