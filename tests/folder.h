/* What a test has left in a folder. */
#ifndef STAIR_TESTS_FOLDER_H
#define STAIR_TESTS_FOLDER_H

#include <dirent.h>

static inline int files_in(const char *folder)
{
    int count = -2; /* . and .. */
    DIR *dir = opendir(folder);
    while (dir && readdir(dir)) count++;
    if (dir) closedir(dir);
    return count;
}

#endif
