/* SPDX-License-Identifier: Apache-2.0
 * What many tests need: temporary folders, small safetensors files, an allocator that
 * refuses on demand, seeded random numbers. Whatever cannot be done fails the running
 * test. */
#ifndef NWT_SUPPORT_H
#define NWT_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include "netweight.h"

/* ---- files ---- */

/* A fresh folder below TMPDIR or /tmp; to be given to nwt_remove. */
char *nwt_folder(void);
/* Removes it with everything in it and frees the path. NULL is allowed. */
void nwt_remove(char *folder);
/* "folder/name"; the caller frees it. */
char *nwt_path(const char *folder, const char *name);
void nwt_write(const char *path, const void *data, size_t size);
/* The whole file with a NUL after it; the caller frees it. `size` may be NULL. */
void *nwt_read(const char *path, size_t *size);

/* ---- safetensors ---- */

/* Grows by appending; ends in a NUL that `size` does not count. */
struct nwt_buffer {
    char *data;
    size_t size;
    size_t capacity;
};

/* A file in the making. Tensors lie in the order in which they are added, without gaps.
 */
struct nwt_safetensors {
    struct nwt_buffer metadata; /* "k":"v",... */
    struct nwt_buffer tensors;  /* "name":{...},... */
    struct nwt_buffer data;
};

void nwt_st_begin(struct nwt_safetensors *b);
/* `dtype` as spelt in the file; `data` NULL: zeros. */
void nwt_st_add(struct nwt_safetensors *b, const char *name, const char *dtype,
                uint32_t rank, const uint64_t *shape, const void *data, size_t nbytes);
void nwt_st_metadata(struct nwt_safetensors *b, const char *key, const char *value);
/* The file's bytes, header padded with spaces so that the data is aligned to 8. The
 * caller frees it; the builder is empty afterwards. */
void *nwt_st_finish(struct nwt_safetensors *b, size_t *size);
/* The same into a file. */
void nwt_st_write(struct nwt_safetensors *b, const char *path);

/* Length, header and data as they are given: for headers that are wrong. Caller frees.
 */
void *nwt_raw_safetensors(const char *header_json, const void *data, size_t data_size,
                          size_t *size);

/* ---- memory ---- */

/* Counts what goes through it. All fields atomic: workers allocate too. */
struct nwt_allocator {
    long fail_at; /* number (from 0) of the one call that returns NULL; < 0: none */
    long calls;   /* of alloc so far */
    long live;    /* blocks not freed */
    size_t live_bytes;
};

/* `state` must outlive everything that uses the result. Blocks are aligned to 64 bytes
 * and filled with a pattern; a free with another size than was asked for shows in
 * live_bytes. */
struct nw_allocator nwt_failing_allocator(struct nwt_allocator *state);

/* ---- random ---- */

/* xorshift64*; *state is the seed and must not be 0. */
uint64_t nwt_random(uint64_t *state);

#endif
