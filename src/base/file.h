/* SPDX-License-Identifier: Apache-2.0
 * Files and folders: every OS call about them is here (mappings and rings: src/run/).
 *
 * A struct nwi_file is an open input: a descriptor, memory, or callbacks. It is reference
 * counted and shared by threads; reading has no position. */
#ifndef NWI_FILE_H
#define NWI_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

/* What tells two states of a file apart. */
struct nwi_file_identity {
    uint64_t size;
    uint64_t device;
    uint64_t inode;
    uint64_t n_links;
    int64_t mtime_ns;
    int64_t ctime_ns;
};

enum nwi_file_kind { NWI_FILE_FD, NWI_FILE_MEMORY, NWI_FILE_INPUT };

struct nwi_file {
    enum nwi_file_kind kind;
    int fd;                /* -1 unless kind is FD */
    const void *data;      /* [identity.size] if kind is MEMORY */
    struct nw_input input; /* if kind is INPUT */
    struct nwi_file_identity
        identity;              /* when it was opened; INPUT and MEMORY: only size */
    char *path;                /* for messages; owned */
    size_t path_size;          /* with its NUL: what was allocated */
    struct nwi_memory *memory; /* retained */
    int refs;                  /* atomic */
};

/* Opens for reading; refuses what is no regular file (folder: ARG; others: ARG). With
 * `no_follow` a path whose last part is a link is UNSAFE_PATH. */
int nwi_file_open(const char *path, bool no_follow, struct nwi_memory *memory,
                  struct nwi_file **out, struct nw_error *err);
/* Duplicates the descriptor. */
int nwi_file_from_fd(int fd, const char *name, struct nwi_memory *memory,
                     struct nwi_file **out, struct nw_error *err);
int nwi_file_from_memory(const void *data, size_t size, const char *name,
                         struct nwi_memory *memory, struct nwi_file **out,
                         struct nw_error *err);
int nwi_file_from_input(const struct nw_input *input, const char *name,
                        struct nwi_memory *memory, struct nwi_file **out,
                        struct nw_error *err);
struct nwi_file *nwi_file_retain(struct nwi_file *file);
void nwi_file_release(struct nwi_file *file);

/* Fills exactly size bytes from offset: short reads and EINTR are retried; the end of the file
 * is CHANGED if identity says the bytes were there at opening, else TRUNCATED; others IO with
 * errno. The offset of the first byte that failed is in err. Any thread. */
int nwi_file_read(const struct nwi_file *file, uint64_t offset, void *dst, size_t size,
                  struct nw_error *err);
/* At most size bytes; *got < size only at the end of the file. */
int nwi_file_read_some(const struct nwi_file *file, uint64_t offset, void *dst,
                       size_t size, size_t *got, struct nw_error *err);
/* CHANGED with both values if size, mtime, inode or (unless the number of links changed too:
 * deleted, replaced) ctime differ from those at opening. */
int nwi_file_check_unchanged(const struct nwi_file *file, struct nw_error *err);

/* Reads a whole small file onto the arena (NUL after the last byte). LIMIT past `limit`. */
int nwi_file_slurp(const char *path, uint64_t limit, struct nwi_arena *arena,
                   char **out, size_t *out_size, struct nw_error *err);

enum nwi_path_kind { NWI_PATH_ABSENT, NWI_PATH_FILE, NWI_PATH_FOLDER, NWI_PATH_OTHER };

/* Follows links. */
enum nwi_path_kind nwi_path_kind(const char *path);
bool nwi_path_is_link(const char *path); /* the last part itself */
/* Canonical form without links, on the arena; NULL if it does not exist (or no memory). */
char *nwi_path_real(const char *path, struct nwi_arena *arena);
/* "dir/name" on the arena (no doubled slash; dir "" or NULL gives name). NULL: no memory. */
char *nwi_path_join(struct nwi_arena *arena, const char *dir, const char *name);
/* The part after the last slash (trailing slashes aside); points into path. */
const char *nwi_path_base(const char *path);
/* The part before it, "." if there is none; on the arena. */
char *nwi_path_dir(struct nwi_arena *arena, const char *path);

/* Names in a folder but for "." and "..", sorted bytewise. */
int nwi_folder_list(const char *path, struct nwi_arena *arena, char ***names, size_t *n,
                    struct nw_error *err);

#endif
