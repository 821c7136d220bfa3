/* SPDX-License-Identifier: Apache-2.0
 * Small text jobs: globs over dotted names, sizes, UTF-8. */
#ifndef NWI_TEXT_H
#define NWI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NWI_GLOB_CAPTURES 8

/* What each `*` of a glob stood for. */
struct nwi_captures {
    size_t n;
    const char *text[NWI_GLOB_CAPTURES];
    size_t size[NWI_GLOB_CAPTURES];
};

/* Whole-name match; `*` is any run of bytes (dots included, as short as possible from the
 * left), `?` any one character, everything else itself; case counts. Linear in
 * pattern x name. `captures` may be NULL; stars past the eighth are not captured. */
bool nwi_glob(const char *pattern, size_t pattern_size, const char *name,
              size_t name_size, struct nwi_captures *captures);

/* True if `component` equals one whole part of the name between dots. */
bool nwi_has_component(const char *name, size_t name_size, const char *component,
                       size_t component_size);

/* "64MiB", "5GB", "1.5gb", "4096", with an optional B; K M G T are decimal, Ki Mi Gi Ti
 * binary. False if it is anything else, negative, or does not fit. */
bool nwi_parse_size(const char *text, size_t size, uint64_t *out);

/* True if the bytes are well-formed UTF-8 (no surrogates, nothing overlong). */
bool nwi_utf8_valid(const char *text, size_t size);

/* Bytes of the well-formed UTF-8 character that text begins with: 1 to 4; 0 if there is none. */
size_t nwi_utf8_length(const char *text, size_t size);

bool nwi_ends_with(const char *text, const char *end);
bool nwi_starts_with(const char *text, const char *start);

#endif
