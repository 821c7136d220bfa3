/* SPDX-License-Identifier: Apache-2.0
 * /proc/self/cgroup has one line a hierarchy, "ID:CONTROLLERS:PATH"; v2 is "0::PATH".
 */
#define _GNU_SOURCE

#include "base/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arith.h"

#define MOUNT "/sys/fs/cgroup"

bool nwi_read_start(const char *root, const char *path, char *out, size_t out_size)
{
    char full[8192];
    int length = snprintf(full, sizeof full, "%s%s", root, path);
    out[0] = '\0';
    if (length < 0 || (size_t)length >= sizeof full)
        return false;
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t n = 1;
    while (n > 0 && used < out_size - 1) {
        do {
            n = read(fd, out + used, out_size - 1 - used);
        } while (n < 0 && errno == EINTR);
        used += n > 0 ? (size_t)n : 0;
    }
    (void)close(fd);
    out[used] = '\0';
    return n >= 0;
}

bool nwi_leading_number(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (!nwi_mul(value, 10, &value) ||
            !nwi_add(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}

bool nwi_line_number(const char *text, const char *name, uint64_t *out)
{
    size_t size = strlen(name);
    for (const char *line = text; line && *line;) {
        if (strncmp(line, name, size) == 0 && strchr(": \t", line[size]) && line[size])
            return nwi_leading_number(line + size + strspn(line + size, ": \t"), out);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return false;
}

/* True if the list "a,b,c" of `size` bytes has that item. */
static bool lists(const char *list, size_t size, const char *item)
{
    size_t item_size = strlen(item);
    for (size_t at = 0; at + item_size <= size; at++) {
        bool starts = at == 0 || list[at - 1] == ',';
        bool ends = at + item_size == size || list[at + item_size] == ',';
        if (starts && ends && memcmp(list + at, item, item_size) == 0)
            return true;
    }
    return false;
}

/* Finds the line of the hierarchy; *list is its controllers, *path its group. */
static bool find_line(const char *text, const char *controller, int version,
                      size_t *list_size, const char **list, const char **path)
{
    for (const char *line = text; line && *line;) {
        const char *first = strchr(line, ':');
        const char *second = first ? strchr(first + 1, ':') : NULL;
        if (!second)
            return false;
        *list = first + 1;
        *list_size = (size_t)(second - first - 1);
        *path = second + 1;
        if (version == 2 ? *list_size == 0 : lists(*list, *list_size, controller))
            return true;
        line = strchr(second, '\n');
        line = line ? line + 1 : NULL;
    }
    return false;
}

static bool exists(const char *root, const char *path)
{
    char full[8192];
    int length = snprintf(full, sizeof full, "%s%s", root, path);
    return length > 0 && (size_t)length < sizeof full && access(full, F_OK) == 0;
}

/* Where that hierarchy is mounted, by custom; writes the mount below `root`. */
static void find_mount(const char *root, int version, const char *controller,
                       const char *list, size_t list_size, char *out, size_t out_size)
{
    if (version == 2) {
        bool alone = exists(root, MOUNT "/cgroup.controllers");
        (void)snprintf(out, out_size, "%s", alone ? MOUNT : MOUNT "/unified");
        return;
    }
    (void)snprintf(out, out_size, "%s/%s", MOUNT, controller);
    if (!exists(root, out))
        (void)snprintf(out, out_size, "%s/%.*s", MOUNT, (int)list_size, list);
}

bool nwi_cgroup_find(const char *root, const char *controller, int version,
                     struct nwi_cgroup *out)
{
    char text[8192];
    char mount[256];
    const char *list = NULL;
    const char *path = NULL;
    size_t list_size = 0;
    if (!nwi_read_start(root, "/proc/self/cgroup", text, sizeof text) ||
        !find_line(text, controller, version, &list_size, &list, &path))
        return false;
    find_mount(root, version, controller, list, nwi_min(list_size, 200), mount,
               sizeof mount);
    size_t path_size = strcspn(path, "\n");
    /* A group outside the namespace is shown as "/../..": not visible from here. */
    if (path_size >= 3 && strncmp(path, "/..", 3) == 0)
        path_size = 0;
    while (path_size > 0 && path[path_size - 1] == '/')
        path_size--;
    int mount_size = snprintf(out->folder, sizeof out->folder, "%s%s", root, mount);
    if (mount_size < 0 || (size_t)mount_size + path_size >= sizeof out->folder)
        return false;
    out->mount_size = (size_t)mount_size;
    memcpy(out->folder + mount_size, path, path_size);
    out->folder[out->mount_size + path_size] = '\0';
    return true;
}

bool nwi_cgroup_up(struct nwi_cgroup *group)
{
    if (strlen(group->folder) <= group->mount_size)
        return false;
    char *slash = strrchr(group->folder + group->mount_size, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

bool nwi_cgroup_read(const struct nwi_cgroup *group, const char *name, char *out,
                     size_t out_size)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/%s", name);
    return nwi_read_start(group->folder, path, out, out_size);
}
