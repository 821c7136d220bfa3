/* SPDX-License-Identifier: Apache-2.0
 * Which reader a run uses. `auto` looks at the page cache: what is there is copied from
 * there (pread); what is not is read past it, many requests in flight (uring, else
 * direct). */
#define _GNU_SOURCE

#include "run/run.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/arith.h"

#define SAMPLES      64u          /* windows looked at per file */
#define SAMPLE_PAGES 32u          /* pages in each */
#define COLD_LEAST   (8ull << 20) /* bytes from which a direct read pays */

struct residency {
    uint64_t pages;
    uint64_t resident;
};

static void sample_window(const uint8_t *map, uint64_t begin, uint64_t end,
                          uint64_t page, struct residency *sum)
{
    unsigned char there[SAMPLE_PAGES];
    size_t n = (size_t)((end - begin + page - 1) / page);
    if (mincore((void *)(uintptr_t)(map + begin), (size_t)(end - begin), there) != 0)
        return;
    sum->pages += n;
    for (size_t i = 0; i < n; i++)
        sum->resident += there[i] & 1u;
}

static void sample_file(const struct nwi_file *file, struct residency *sum)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t size = file->identity.size;
    if (file->kind != NWI_FILE_FD || size == 0)
        return;
    uint8_t *map =
        mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED | MAP_NORESERVE, file->fd, 0);
    if (map == MAP_FAILED)
        return;
    uint64_t stride = nwi_max(nwi_round_up(size / SAMPLES, page), page);
    for (uint64_t at = 0; at < size; at += stride) {
        uint64_t end = nwi_min(nwi_min(at + SAMPLE_PAGES * page, at + stride), size);
        sample_window(map, at, end, page, sum);
    }
    (void)munmap(map, (size_t)size);
}

/* The files that the run reads, one after the other; false at the end. */
static bool next_file(const struct nwi_run *run, size_t *step, uint32_t *file)
{
    uint32_t last = *file;
    for (; *step < run->n_steps; (*step)++) {
        size_t plan;
        const struct nwi_step *now = nwi_run_step(run, *step, &plan);
        if (now->file != last && nwi_run_wants(run, now, plan)) {
            *file = now->file;
            return true;
        }
    }
    return false;
}

static bool is_cached(const struct nwi_run *run)
{
    struct residency sum = {0};
    size_t step = 0;
    for (uint32_t file = NW_NONE; next_file(run, &step, &file);)
        sample_file(run->ckpt->files[file].file, &sum);
    return sum.resident * 2 >= sum.pages;
}

static bool all_real_files(const struct nwi_run *run)
{
    size_t step = 0;
    for (uint32_t file = NW_NONE; next_file(run, &step, &file);) {
        if (run->ckpt->files[file].file->kind != NWI_FILE_FD)
            return false;
    }
    return true;
}

static void choose(struct nwi_run *run, const struct nwi_reader *reader,
                   const char *reason)
{
    run->reader = reader;
    run->figures.backend = reader->name;
    run->figures.reason = reason;
}

/* Direct reads by io_uring where it works, else by plain calls, else through the cache.
 */
static void choose_cold(struct nwi_run *run, const char *reason)
{
    if (!nwi_direct_open(run)) {
        nwi_direct_close(run);
        choose(run, &nwi_reader_pread, "not in the page cache, but no O_DIRECT here");
        return;
    }
#ifdef NWI_HAVE_URING
    if (nwi_uring_works()) {
        choose(run, &nwi_reader_uring, reason);
        return;
    }
#endif
    choose(run, &nwi_reader_direct, reason);
}

/* A mapping saves a copy, where it cannot fault. */
static void choose_warm(struct nwi_run *run)
{
    if (nwi_windows_open(run)) {
        choose(run, &nwi_reader_mmap, "in the page cache");
        return;
    }
    nwi_windows_close(run);
    choose(run, &nwi_reader_pread, "in the page cache, and no lease to map it under");
}

static void choose_auto(struct nwi_run *run)
{
    if (run->total_bytes < COLD_LEAST)
        choose(run, &nwi_reader_pread, "few bytes to read");
    else if (is_cached(run))
        choose_warm(run);
    else
        choose_cold(run, "not in the page cache");
}

static int choose_asked_direct(struct nwi_run *run, const struct nwi_reader *reader,
                               struct nw_error *err)
{
    if (nwi_direct_open(run)) {
        choose(run, reader, "asked for");
        return NW_OK;
    }
    nwi_direct_close(run);
    return nwi_fail(err, NW_E_UNSUPPORTED,
                    "the file system offers no direct reads (O_DIRECT)");
}

static int choose_asked(struct nwi_run *run, uint32_t backend, struct nw_error *err)
{
    switch (backend) {
    case NW_BACKEND_MMAP:
        if (nwi_windows_open(run)) {
            choose(run, &nwi_reader_mmap, "asked for");
            return NW_OK;
        }
        nwi_windows_close(run);
        choose(run, &nwi_reader_pread, "mmap was asked for, but there is no lease");
        return NW_OK;
    case NW_BACKEND_DIRECT:
        return choose_asked_direct(run, &nwi_reader_direct, err);
    case NW_BACKEND_URING:
#ifdef NWI_HAVE_URING
        return choose_asked_direct(run, &nwi_reader_uring, err);
#else
        return nwi_fail(err, NW_E_UNSUPPORTED, "this build has no io_uring");
#endif
    default:
        choose(run, &nwi_reader_pread, "asked for");
        return NW_OK;
    }
}

int nwi_choose_backend(struct nwi_run *run, struct nw_error *err)
{
    uint32_t backend = run->plans[0]->options.backend;
    if (run->total_bytes == 0) {
        choose(run, &nwi_reader_pread, "nothing to read");
        run->figures.backend = "mmap";
        run->figures.reason = "every tensor is mapped";
        return NW_OK;
    }
    if (!all_real_files(run)) {
        choose(run, &nwi_reader_pread, "the input is no file");
        run->figures.backend = "input";
        return NW_OK;
    }
    if (backend != NW_BACKEND_AUTO)
        return choose_asked(run, backend, err);
    choose_auto(run);
    return NW_OK;
}
