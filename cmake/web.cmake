# What `stair report` puts into its pages: style and script of web/, as C arrays of the program.
#
# STAIR_WEB  AUTO  the script is bundled where node and npm are there and the packages can be installed;
#                  else pages have pictures in place of plots, and say so
#            ON    the build fails where it cannot be bundled
#            OFF   no node, no npm, no network
# Everything happens at build time, in the folder web/ of the build, within STAIR_WEB_SECONDS.
set(STAIR_WEB AUTO CACHE STRING "bundle the script of report pages with node: AUTO, ON or OFF")
set_property(CACHE STAIR_WEB PROPERTY STRINGS AUTO ON OFF)
set(STAIR_WEB_SECONDS 90 CACHE STRING "longest time for the installation of the packages of web/")

set(web_from ${PROJECT_SOURCE_DIR}/web)
set(web_to ${CMAKE_CURRENT_BINARY_DIR}/web)
file(GLOB web_sources CONFIGURE_DEPENDS ${web_from}/src/* ${web_from}/*.json ${web_from}/*.mjs)
add_custom_command(OUTPUT ${web_to}/script.js ${web_to}/script.sha256
  COMMAND ${CMAKE_COMMAND} -DMODE=${STAIR_WEB} -DFROM=${web_from} -DTO=${web_to} -DSECONDS=${STAIR_WEB_SECONDS}
          -P ${PROJECT_SOURCE_DIR}/cmake/web_bundle.cmake
  DEPENDS ${web_sources} ${PROJECT_SOURCE_DIR}/cmake/web_bundle.cmake
  COMMENT "Bundling the script of report pages" VERBATIM)
add_custom_command(OUTPUT ${web_to}/page_assets.c
  COMMAND ${CMAKE_COMMAND} -DOUT=${web_to}/page_assets.c
          "-DFILES=page_style=${web_from}/src/style.css$<SEMICOLON>page_script=${web_to}/script.js$<SEMICOLON>page_script_digest=${web_to}/script.sha256"
          -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${web_sources} ${web_to}/script.js ${web_to}/script.sha256 ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  COMMENT "Embedding style and script of report pages" VERBATIM)
