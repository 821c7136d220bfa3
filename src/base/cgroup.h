/* SPDX-License-Identifier: Apache-2.0
 * The control groups this process is in (v1 and v2), from its own up to the mount. */
#ifndef NWI_CGROUP_H
#define NWI_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nwi_cgroup {
    char folder[4096];
    size_t mount_size; /* of the part of folder that is the mount */
};

/* The group that `controller` ("memory", "cpu") puts this process in; version 1 or 2.
 * `root` stands before /proc and /sys. False if there is none. The folder need not
 * exist: inside a container only the mount itself may be visible, so read on upwards.
 */
bool nwi_cgroup_find(const char *root, const char *controller, int version,
                     struct nwi_cgroup *out);
/* To the group above; false if this was the mount. */
bool nwi_cgroup_up(struct nwi_cgroup *group);
/* The first bytes of one of its files, ending in NUL; false if it is not there. */
bool nwi_cgroup_read(const struct nwi_cgroup *group, const char *name, char *out,
                     size_t out_size);

/* The first bytes of root + path, ending in NUL; false if that cannot be read. */
bool nwi_read_start(const char *root, const char *path, char *out, size_t out_size);
/* The number at the start of text; false if there is none ("max") or it does not fit.
 */
bool nwi_leading_number(const char *text, uint64_t *out);
/* The number in the line that begins with `name`, then ':' or white space. */
bool nwi_line_number(const char *text, const char *name, uint64_t *out);

#endif
