/* What is refused before it is loaded: loading runs code.
 *
 * The rules: a path with a '/' (the loader searches no folder for it), a regular file, not writable by group
 * or others, an ELF shared library of this machine's kind whose segments all lie inside of the file (one that
 * was cut off would be death by SIGBUS).  The digest is FNV-1a, 64 bits: it tells versions of a file apart,
 * and keeps nobody from making two with the same. */
#include "plugin/file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST ((off_t)1 << 28) /* bytes: a link is code, and its tables */

#if UINTPTR_MAX > UINT32_MAX
typedef Elf64_Ehdr file_head;
typedef Elf64_Phdr segment_head;
#define WIDTH ELFCLASS64
#else
typedef Elf32_Ehdr file_head;
typedef Elf32_Phdr segment_head;
#define WIDTH ELFCLASS32
#endif

static stair_status refuse(stair_context *context, const char *path, const char *reason)
{
    return stair_fail(context, STAIR_BAD_INPUT, "plugin '%.200s': %s", path, reason);
}

/* The head of the library that this code is part of, or NULL: what a plug-in has to be like. */
static uint16_t own_machine(void)
{
#if defined __x86_64__
    return EM_X86_64;
#elif defined __aarch64__
    return EM_AARCH64;
#elif defined __riscv
    return EM_RISCV;
#else
    return EM_NONE; /* not known: the loader says */
#endif
}

/* NULL, or why these bytes are no library that can be loaded. */
static const char *wrong_with(const unsigned char *bytes, uint64_t size)
{
    file_head head;
    segment_head segment;
    if (size < sizeof head || memcmp(bytes, ELFMAG, SELFMAG)) return "is no shared library (ELF)";
    memcpy(&head, bytes, sizeof head);
    if (head.e_ident[EI_CLASS] != WIDTH || (own_machine() != EM_NONE && head.e_machine != own_machine()))
        return "is a library for another machine";
    if (head.e_type != ET_DYN) return "is no shared library: build it with -shared -fPIC";
    if (head.e_phentsize != sizeof segment || !head.e_phnum || head.e_phoff > size ||
        size - head.e_phoff < (uint64_t)head.e_phnum * sizeof segment)
        return "is cut off or damaged";
    for (uint64_t k = 0; k < head.e_phnum; k++) {
        memcpy(&segment, bytes + head.e_phoff + k * sizeof segment, sizeof segment);
        if (segment.p_offset > size || size - segment.p_offset < segment.p_filesz)
            return "is cut off or damaged";
    }
    return NULL;
}

static uint64_t digest_of(const unsigned char *bytes, uint64_t size)
{
    uint64_t digest = 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < size; i++) digest = (digest ^ bytes[i]) * 0x100000001b3u;
    return digest;
}

static stair_status check_bytes(stair_context *context, const char *path, int file, off_t size,
                                uint64_t *digest)
{
    if (size <= 0 || size > LARGEST) return refuse(context, path, "is empty, or larger than a plug-in gets");
    unsigned char *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) return refuse(context, path, strerror(errno));
    const char *wrong = wrong_with(bytes, (uint64_t)size);
    if (!wrong) *digest = digest_of(bytes, (uint64_t)size);
    munmap(bytes, (size_t)size);
    return wrong ? refuse(context, path, wrong) : STAIR_OK;
}

stair_status stair_plugin_file_check(stair_context *context, const char *path, uint64_t *digest)
{
    struct stat about;
    if (!strchr(path, '/'))
        return refuse(context, path, "write its path with a '/', such as ./FILE.so: no folder is searched");
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return refuse(context, path, strerror(errno));
    stair_status status = STAIR_OK;
    if (fstat(file, &about) != 0)
        status = refuse(context, path, strerror(errno));
    else if (!S_ISREG(about.st_mode))
        status = refuse(context, path, "is not a regular file");
    else if (about.st_mode & (S_IWGRP | S_IWOTH))
        status = refuse(context, path,
                        "may be written to by others than its owner: chmod go-w it if you trust it");
    else
        status = check_bytes(context, path, file, about.st_size, digest);
    close(file);
    return status;
}
