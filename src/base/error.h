/* SPDX-License-Identifier: Apache-2.0
 * Filling struct nw_error. The first error wins: a later one does not overwrite it. */
#ifndef NWI_ERROR_H
#define NWI_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include "netweight.h"

/* Propagates a failure. The only macro with control flow; use where nothing is to release. */
#define NWI_TRY(expr)                                                                  \
    do {                                                                               \
        int nwi_try_code = (expr);                                                     \
        if (nwi_try_code != NW_OK)                                                     \
            return nwi_try_code;                                                       \
    } while (0)

/* Makes *err say that nothing has failed. Every public function calls it first. */
void nwi_error_clear(struct nw_error *err);

/* All return the code that err holds afterwards (`code`, unless an earlier one won). */
int nwi_fail(struct nw_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int nwi_fail_at(struct nw_error *err, int code, uint64_t offset, const char *format,
                ...) __attribute__((format(printf, 4, 5)));
/* With errno in .sys and its text at the end of the message. NOT_FOUND for ENOENT and ENOTDIR,
 * NOMEM for ENOMEM, else IO. */
int nwi_fail_sys(struct nw_error *err, int sys, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, about a byte of a file. */
int nwi_fail_sys_at(struct nw_error *err, int sys, uint64_t offset, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
/* The allocator refused `nbytes`. */
int nwi_fail_nomem(struct nw_error *err, uint64_t nbytes);

/* Add the file or tensor if none is there yet; return err's code. err may be NULL: then
 * `code` comes back, so that `return nwi_error_in_file(err, code, path);` works. */
int nwi_error_in_file(struct nw_error *err, int code, const char *path);
int nwi_error_in_tensor(struct nw_error *err, int code, const char *name);

/* Copies text from a file into out for a message: control characters, quotes and broken UTF-8
 * become \xNN, at most about `max_chars` characters, "..." where it was cut. NUL-terminated. */
void nwi_quote(char *out, size_t out_size, const char *text, size_t size,
               size_t max_chars);

#endif
