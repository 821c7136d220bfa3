/* SPDX-License-Identifier: Apache-2.0
 * One run from beginning to end: set-up, workers, the calling thread's watch,
 * tear-down. */
#define _GNU_SOURCE

#include "run/run.h"

#include <assert.h>
#include <signal.h>
#include <string.h>

#include "base/arith.h"
#include "base/system.h"
#include "plan/plan_parts.h"

/* A worker with less than two of these is not started. */
#define SLOT_LEAST ((size_t)16 << 10)

#define WATCH_MS       25 /* between two calls of the progress callback; 50 are promised */
#define STACK_BYTES    (512u << 10)
#define DIRECT_WORKERS 12u /* blocked in a read most of the time */

_Static_assert(sizeof(struct nwi_worker) <= NWI_WORKER_RECORD_BYTES,
               "counted by the plan");
_Static_assert(sizeof(struct nwi_window) + sizeof(int) <= NWI_FILE_RECORD_BYTES,
               "likewise");
_Static_assert(sizeof(struct nwi_target_state) <= NWI_TARGET_RECORD_BYTES, "likewise");

void nwi_run_fail(struct nwi_run *run, uint64_t seq, const struct nw_error *error)
{
    nwi_monitor_enter(&run->monitor);
    if (run->error.code == NW_OK || seq < run->error_seq) {
        run->error = *error;
        run->error_seq = seq;
    }
    atomic_store(&run->stop, true);
    nwi_monitor_leave(&run->monitor);
}

/* ---- workers ---- */

static struct nwi_slot *free_slot(struct nwi_worker *worker)
{
    for (uint32_t i = 0; i < worker->n_slots; i++) {
        if (!worker->slots[i].busy)
            return &worker->slots[i];
    }
    return NULL;
}

static void fail_unit(struct nwi_worker *worker, const struct nwi_slot *slot)
{
    struct nwi_run *run = worker->run;
    uint64_t seq = slot ? slot->unit.seq : UINT64_MAX;
    if (slot)
        (void)nwi_error_in_file(&worker->error, worker->error.code,
                                run->ckpt->files[slot->unit.file].info.path);
    nwi_run_fail(run, seq, &worker->error);
}

/* Fills every free slot. False if something failed. */
static bool submit_units(struct nwi_worker *worker, uint32_t *in_flight)
{
    struct nwi_slot *slot;
    while ((slot = free_slot(worker)) && nwi_claim(worker, &slot->unit)) {
        if (worker->run->reader->submit(worker, slot, &worker->error) != NW_OK) {
            fail_unit(worker, slot);
            return false;
        }
        slot->busy = true;
        (*in_flight)++;
    }
    return worker->error.code == NW_OK;
}

static bool finish_unit(struct nwi_worker *worker)
{
    struct nwi_slot *slot = NULL;
    int code = worker->run->reader->wait(worker, &slot, &worker->error);
    if (slot)
        slot->busy = false;
    if (code == NW_OK)
        code = nwi_process(worker, slot, &worker->error);
    if (slot && worker->run->reader->release)
        worker->run->reader->release(worker, slot);
    if (code != NW_OK)
        fail_unit(worker, slot);
    return code == NW_OK;
}

static bool report_progress(struct nwi_run *run, const struct nw_run_options *options)
{
    if (!options->progress)
        return true;
    uint64_t done = atomic_load(&run->done_bytes);
    if (options->progress(options->progress_ctx, done, run->total_bytes) == 0)
        return true;
    struct nw_error cancelled;
    nwi_error_clear(&cancelled);
    (void)nwi_fail(&cancelled, NW_E_CANCELLED, "cancelled after %llu of %llu bytes",
                   (unsigned long long)done, (unsigned long long)run->total_bytes);
    nwi_run_fail(run, 0, &cancelled);
    return false;
}

/* `options` is set where the calling thread works itself, and watches between two
 * units. */
static void work(struct nwi_worker *worker, const struct nw_run_options *options)
{
    uint32_t in_flight = 0;
    nwi_error_clear(&worker->error);
    bool going = true;
    while (going) {
        going =
            submit_units(worker, &in_flight) && in_flight > 0 && finish_unit(worker);
        in_flight -= going;
        if (going && options)
            going = report_progress(worker->run, options);
    }
}

static void *worker_main(void *arg)
{
    struct nwi_worker *worker = arg;
    struct nwi_run *run = worker->run;
    work(worker, NULL);
    nwi_monitor_enter(&run->monitor);
    run->n_running--;
    nwi_monitor_signal(&run->monitor);
    nwi_monitor_leave(&run->monitor);
    return NULL;
}

/* ---- the ring ---- */

/* Divides a worker's share of the ring into slots and, if casts have no destination, an
 * output block. False if the share is too small for one slot. */
static void cut_share(struct nwi_worker *worker, uint8_t *share, size_t size,
                      bool needs_out)
{
    const struct nwi_reader *reader = worker->run->reader;
    if (needs_out) {
        worker->out_size = (size_t)nwi_min(size / 2, 1u << 20) & ~(size_t)4095;
        worker->out = share;
        share += worker->out_size;
        size -= worker->out_size;
    }
    size_t slot_size = (size_t)nwi_max(
        nwi_min(reader->unit_bytes + 2 * NWI_DIRECT_ALIGN, size), SLOT_LEAST);
    worker->n_slots =
        (uint32_t)nwi_min(nwi_min(size / slot_size, reader->depth), NWI_SLOTS_MOST);
    /* With a deep reader and a small share, smaller units beat a single one in flight.
     */
    if (reader->depth > 1 && worker->n_slots < 4 && size >= 4 * SLOT_LEAST) {
        worker->n_slots = 4;
        slot_size = (size / 4) & ~(size_t)4095;
    }
    for (uint32_t i = 0; i < worker->n_slots; i++) {
        worker->slots[i].buffer = share + i * slot_size;
        worker->slots[i].capacity = slot_size;
    }
}

static bool any_cast(const struct nwi_run *run)
{
    for (size_t p = 0; p < run->n_plans; p++) {
        for (size_t i = 0; i < run->plans[p]->n_targets; i++) {
            if (run->plans[p]->targets[i].info.op == NW_OP_CAST)
                return true;
        }
    }
    return false;
}

struct crew {
    uint8_t *records; /* [n_records * NWI_WORKER_RECORD_BYTES] */
    size_t n_records;
    uint32_t n;      /* workers */
    uint32_t n_open; /* of them, with an open reader */
    uint8_t *ring;   /* [ring_bytes] */
    size_t ring_bytes;
};

static struct nwi_worker *crew_worker(const struct crew *crew, uint32_t i)
{
    return (void *)(crew->records + (size_t)i * NWI_WORKER_RECORD_BYTES);
}

static uint32_t wanted_workers(const struct nwi_run *run,
                               const struct nwi_footprint *need)
{
    bool automatic = run->plans[0]->options.threads == 0;
    uint32_t n = need->threads;
    if (n && automatic && run->reader == &nwi_reader_direct)
        n = (uint32_t)nwi_max(n, DIRECT_WORKERS);
    return n;
}

static int hire(struct nwi_run *run, const struct nwi_footprint *need,
                struct crew *crew, struct nw_error *err)
{
    crew->n_records = need->n_workers;
    crew->ring_bytes = (size_t)need->ring;
    size_t size = crew->n_records * NWI_WORKER_RECORD_BYTES;
    crew->records = nwi_zalloc(run->memory, size);
    if (!crew->records)
        return nwi_fail_nomem(err, size);
    crew->ring = nwi_alloc_pages(run->memory, crew->ring_bytes);
    if (!crew->ring)
        return nwi_fail_nomem(err, crew->ring_bytes);
    uint32_t threads = wanted_workers(run, need);
    uint64_t most = nwi_max(crew->ring_bytes / (4 * SLOT_LEAST), 1);
    crew->n = (uint32_t)nwi_min(nwi_max(threads, 1), most);
    run->figures.threads = threads ? crew->n : 0;
    return NW_OK;
}

static int equip(struct nwi_run *run, struct crew *crew, struct nw_error *err)
{
    assert(crew->n > 0);
    size_t share = (crew->ring_bytes / crew->n) & ~(size_t)(NWI_DIRECT_ALIGN - 1);
    bool needs_out = run->sink.write && any_cast(run);
    run->unit_bytes = SIZE_MAX;
    for (uint32_t i = 0; i < crew->n; i++) {
        struct nwi_worker *worker = crew_worker(crew, i);
        worker->run = run;
        cut_share(worker, crew->ring + i * share, share, needs_out);
        run->unit_bytes = (size_t)nwi_min(run->unit_bytes, worker->slots[0].capacity -
                                                               2 * NWI_DIRECT_ALIGN);
        if (run->reader->open)
            NWI_TRY(run->reader->open(worker, err));
        crew->n_open++;
    }
    return NW_OK;
}

static void dismiss(struct nwi_run *run, struct crew *crew)
{
    for (uint32_t i = 0; i < crew->n_open; i++) {
        if (run->reader->close)
            run->reader->close(crew_worker(crew, i));
    }
    nwi_free_pages(run->memory, crew->ring, crew->ring_bytes);
    nwi_free(run->memory, crew->records, crew->n_records * NWI_WORKER_RECORD_BYTES);
}

/* ---- threads ---- */

/* Signals are the program's business: workers are started with all of them blocked. */
static int start_thread(struct nwi_worker *worker)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t before;
    int sys = pthread_attr_init(&attr);
    if (sys)
        return sys;
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    sys = pthread_create(&worker->thread, &attr, worker_main, worker);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    worker->started = sys == 0;
    return sys;
}

static void watch(struct nwi_run *run, const struct nw_run_options *options)
{
    bool going = true;
    nwi_monitor_enter(&run->monitor);
    while (run->n_running > 0) {
        (void)nwi_monitor_wait(&run->monitor, WATCH_MS);
        nwi_monitor_leave(&run->monitor);
        going = going && report_progress(run, options);
        nwi_monitor_enter(&run->monitor);
    }
    nwi_monitor_leave(&run->monitor);
}

static void run_threads(struct nwi_run *run, struct crew *crew,
                        const struct nw_run_options *options)
{
    uint32_t n_started = 0;
    run->n_running = crew->n;
    for (uint32_t i = 0; i < crew->n; i++)
        n_started += start_thread(crew_worker(crew, i)) == 0;
    nwi_monitor_enter(&run->monitor);
    run->n_running -= crew->n - n_started;
    nwi_monitor_leave(&run->monitor);
    watch(run, options);
    for (uint32_t i = 0; i < crew->n; i++) {
        struct nwi_worker *worker = crew_worker(crew, i);
        if (worker->started)
            (void)pthread_join(worker->thread, NULL);
    }
    /* No thread to be had (a limit of the system): the calling thread does it. */
    if (n_started == 0)
        work(crew_worker(crew, 0), options);
}

/* ---- set-up ---- */

static void init_states(struct nwi_run *run)
{
    for (size_t p = 0; p < run->n_plans; p++) {
        const struct nw_plan *plan = run->plans[p];
        for (size_t i = 0; i < plan->n_targets; i++) {
            struct nwi_target_state *state = &run->states[run->first_target[p] + i];
            state->plan = (uint32_t)p;
            state->digest_only =
                run->purpose == NWI_TO_MEMORY && nwi_target_mapped(&plan->targets[i]);
        }
        for (size_t i = 0; i < plan->n_steps; i++) {
            size_t number = run->first_target[p] + plan->steps[i].target;
            if (!nwi_run_wants(run, &plan->steps[i], p))
                continue;
            run->states[number].remaining += plan->steps[i].nbytes;
            run->states[number].has_bytes = true;
        }
    }
}

/* Bytes that will be read: steps that overlap count once. */
static uint64_t count_bytes(const struct nwi_run *run)
{
    uint64_t total = 0;
    uint64_t end = 0;
    uint32_t file = NW_NONE;
    for (size_t i = 0; i < run->n_steps; i++) {
        size_t plan;
        const struct nwi_step *step = nwi_run_step(run, i, &plan);
        if (!nwi_run_wants(run, step, plan))
            continue;
        end = step->file == file ? nwi_max(end, step->offset) : step->offset;
        file = step->file;
        total += nwi_sub_floor(step->offset + step->nbytes, end);
        end = nwi_max(end, step->offset + step->nbytes);
    }
    return total;
}

static bool ref_before(const struct nwi_run *run, uint64_t a, uint64_t b)
{
    const struct nwi_step *x = &run->plans[a >> 32]->steps[a & UINT32_MAX];
    const struct nwi_step *y = &run->plans[b >> 32]->steps[b & UINT32_MAX];
    if (x->file != y->file)
        return x->file < y->file;
    if (x->offset != y->offset)
        return x->offset < y->offset;
    return a < b;
}

/* Merges the steps of plan p, sorted by themselves, from behind into the n refs before. */
static void merge_plan(struct nwi_run *run, size_t p, size_t n)
{
    size_t left = n;
    size_t right = run->plans[p]->n_steps;
    for (size_t at = n + right; right > 0;) {
        uint64_t ref = (uint64_t)p << 32 | (right - 1);
        if (left > 0 && ref_before(run, ref, run->step_refs[left - 1])) {
            run->step_refs[--at] = run->step_refs[--left];
        } else {
            run->step_refs[--at] = ref;
            right--;
        }
    }
}

static int list_steps(struct nwi_run *run, struct nw_error *err)
{
    for (size_t p = 0; p < run->n_plans; p++)
        run->n_steps += run->plans[p]->n_steps;
    if (run->n_plans == 1 || run->n_steps == 0)
        return NW_OK;
    run->step_refs = nwi_alloc(run->memory, run->n_steps * NWI_STEP_REF_BYTES);
    if (!run->step_refs)
        return nwi_fail_nomem(err, run->n_steps * NWI_STEP_REF_BYTES);
    size_t n = 0;
    for (size_t p = 0; p < run->n_plans; n += run->plans[p]->n_steps, p++)
        merge_plan(run, p, n);
    return NW_OK;
}

static int check_files(const struct nwi_run *run, struct nw_error *err)
{
    for (size_t i = 0; i < run->ckpt->n_files; i++) {
        const struct nwi_file *file = run->ckpt->files[i].file;
        if (file)
            NWI_TRY(nwi_file_check_unchanged(file, err));
    }
    return NW_OK;
}

static int move_bytes(struct nwi_run *run, const struct nwi_run_request *request,
                      struct nw_error *err)
{
    struct nwi_footprint need;
    struct nw_cost cost;
    struct crew crew = {0};
    nwi_plans_cost((const struct nw_plan *const *)request->plans, request->n_plans,
                   request->purpose, &cost, &need);
    int code = hire(run, &need, &crew, err);
    if (code == NW_OK)
        code = equip(run, &crew, err);
    if (code == NW_OK) {
        if (run->figures.threads)
            run_threads(run, &crew, request->options);
        else
            work(crew_worker(&crew, 0), request->options);
        code = run->error.code;
        if (err && code != NW_OK)
            *err = run->error;
    }
    dismiss(run, &crew);
    return code;
}

/* Room for what a reader opens beside the checkpoint's own descriptors. */
static int list_files(struct nwi_run *run, struct nw_error *err)
{
    size_t n = run->ckpt->n_files;
    run->direct_fds = nwi_alloc(run->memory, n * sizeof *run->direct_fds);
    for (size_t i = 0; run->direct_fds && i < n; i++)
        run->direct_fds[i] = -1;
    run->windows = nwi_zalloc(run->memory, n * sizeof *run->windows);
    for (size_t i = 0; run->windows && i < n; i++)
        run->windows[i].fd = -1;
    if (n && (!run->direct_fds || !run->windows))
        return nwi_fail_nomem(err, n * sizeof *run->windows);
    return NW_OK;
}

static void close_files(struct nwi_run *run)
{
    size_t n = run->ckpt->n_files;
    nwi_windows_close(run);
    nwi_direct_close(run);
    nwi_free(run->memory, run->windows, n * sizeof *run->windows);
    nwi_free(run->memory, run->direct_fds, n * sizeof *run->direct_fds);
}

static int run_steps(struct nwi_run *run, const struct nwi_run_request *request,
                     struct nw_error *err)
{
    NWI_TRY(list_steps(run, err));
    run->total_bytes = count_bytes(run);
    run->figures.read_bytes = run->total_bytes;
    NWI_TRY(list_files(run, err));
    NWI_TRY(nwi_choose_backend(run, err));
    if (run->total_bytes)
        NWI_TRY(move_bytes(run, request, err));
    else if (!report_progress(run, request->options))
        return nwi_fail(err, NW_E_CANCELLED, "cancelled before the end");
    if (run->total_bytes && !report_progress(run, request->options))
        return nwi_fail(err, NW_E_CANCELLED, "cancelled at the end");
    NWI_TRY(nwi_settle_empty(run, run->n_targets, err));
    return check_files(run, err);
}

int nwi_run(const struct nwi_run_request *request, struct nw_result_figures *figures,
            struct nw_error *err)
{
    struct nwi_run run = {
        .plans = request->plans,
        .n_plans = request->n_plans,
        .first_target = request->first_target,
        .states = request->states,
        .sink = request->sink,
        .purpose = request->purpose,
        .ckpt = request->plans[0]->ckpt,
        .memory = request->memory,
        .position_file = NW_NONE,
    };
    for (size_t i = 0; i < run.n_plans; i++)
        run.n_targets += run.plans[i]->n_targets;
    int sys = nwi_monitor_init(&run.monitor);
    if (sys)
        return nwi_fail_sys(err, sys, "cannot make a lock");
    double begin = nwi_now();
    run.figures.baseline_bytes = nwi_resident_bytes();
    init_states(&run);
    int code = check_files(&run, err);
    if (code == NW_OK)
        code = run_steps(&run, request, err);
    run.figures.seconds = nwi_now() - begin;
    run.figures.rss_peak_bytes =
        nwi_sub_floor(nwi_resident_peak_bytes(), run.figures.baseline_bytes);
    close_files(&run);
    nwi_free(run.memory, run.step_refs, run.n_steps * NWI_STEP_REF_BYTES);
    nwi_monitor_destroy(&run.monitor);
    *figures = run.figures;
    return code;
}
