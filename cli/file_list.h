/* Names of files in one word: FILE; a list FILE,FILE,...; or @LIST, a text file with a name on each line.  A
 * file that has the whole word for its name comes first. */
#ifndef STAIR_CLI_FILE_LIST_H
#define STAIR_CLI_FILE_LIST_H

#include "core/context.h"

typedef struct {
    char **names;
    size_t count;
} file_list;

/* At least one name; whether there are such files is for others to find out. */
stair_status file_list_read(stair_context *context, const char *word, file_list *list);
void file_list_free(file_list *list);

#endif
