# cmake -DOUT=FILE.c "-DFILES=name=path;..." -P embed.cmake: name[] and name_size hold the bytes of path.
# A file that is not there is empty; each array ends in a zero that is not counted.
set(text "/* Made by cmake/embed.cmake. */\n#include <stddef.h>\n")
foreach(item ${FILES})
  string(REGEX MATCH "^([^=]+)=(.*)$" matched "${item}")
  set(name ${CMAKE_MATCH_1})
  set(path ${CMAKE_MATCH_2})
  set(hex "")
  if(EXISTS ${path})
    file(READ ${path} hex HEX)
  endif()
  string(LENGTH "${hex}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(APPEND text "extern const unsigned char ${name}[];\nextern const size_t ${name}_size;\n"
    "const unsigned char ${name}[] = {\n${hex}0};\nconst size_t ${name}_size = ${size};\n")
endforeach()
file(WRITE ${OUT} "${text}")
