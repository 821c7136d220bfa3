/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "run/window.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define BREAK_TIME_LEAST 5 /* seconds; a unit is inside for milliseconds */

static uint64_t page_down(uint64_t offset)
{
    return offset & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Seconds that a writer is held up at most; 0 if the system does not tell. */
static int lease_break_time(void)
{
    char text[16] = "";
    int seconds = 0;
    int fd = open("/proc/sys/fs/lease-break-time", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9' && seconds < 1000;
         i++)
        seconds = seconds * 10 + (text[i] - '0');
    return seconds;
}

/* The signal that tells the owner of a lease of a waiting writer is taken off: first one that is
 * ignored by default, then no owner at all. */
static bool take_lease(int fd)
{
    return fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0 &&
           fcntl(fd, F_SETOWN, 0) == 0;
}

bool nwi_window_open(struct nwi_window *window, const struct nwi_file *file)
{
    char path[64];
    window->fd = -1;
    atomic_init(&window->users, 0);
    atomic_init(&window->closing, false);
    if (file->kind != NWI_FILE_FD || file->identity.size == 0 ||
        lease_break_time() < BREAK_TIME_LEAST)
        return false;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t size = (size_t)file->identity.size;
    void *map = MAP_FAILED;
    if (take_lease(fd))
        map = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED) {
        (void)close(fd); /* and the lease with it */
        return false;
    }
    window->fd = fd;
    window->map = map;
    window->size = size;
    return true;
}

void nwi_window_close(struct nwi_window *window)
{
    if (window->fd < 0)
        return;
    (void)munmap((void *)(uintptr_t)window->map, window->size);
    (void)close(window->fd);
    window->fd = -1;
}

static void step_out(struct nwi_window *window)
{
    if (atomic_fetch_sub(&window->users, 1) == 1 && atomic_load(&window->closing))
        (void)fcntl(window->fd, F_SETLEASE, F_UNLCK);
}

static bool populate(const struct nwi_window *window, uint64_t begin, uint64_t end)
{
    uint64_t from = page_down(begin);
    void *start = (void *)(uintptr_t)(window->map + from);
    while (madvise(start, (size_t)(end - from), MADV_POPULATE_READ) != 0) {
        if (errno != EINTR && errno != EAGAIN)
            return false;
    }
    return true;
}

bool nwi_window_enter(struct nwi_window *window, uint64_t begin, uint64_t end)
{
    if (window->fd < 0)
        return false;
    atomic_fetch_add(&window->users, 1);
    if (!atomic_load(&window->closing) && fcntl(window->fd, F_GETLEASE) == F_RDLCK &&
        populate(window, begin, end))
        return true;
    atomic_store(&window->closing, true);
    step_out(window);
    return false;
}

void nwi_window_leave(struct nwi_window *window, uint64_t begin, uint64_t end)
{
    uint64_t from = page_down(begin);
    (void)madvise((void *)(uintptr_t)(window->map + from), (size_t)(end - from),
                  MADV_DONTNEED);
    step_out(window);
}
