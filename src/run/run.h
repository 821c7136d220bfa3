/* SPDX-License-Identifier: Apache-2.0
 * The engine: plans + sink -> bytes moved. Steps are read once, in file order, in units
 * that workers claim from one cursor; each unit is read into a slot of its worker's
 * share of the ring, converted, and handed to the sink.
 *
 * Who writes what: fields marked (lock) only inside run->monitor; atomics by anyone;
 * the rest is set before the workers start and read-only after. */
#ifndef NWI_RUN_H
#define NWI_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread.h"
#include "plan/plan.h"
#include "run/sink.h"
#include "run/window.h"

/* One target while its bytes arrive. */
struct nwi_target_state {
    void *dst;                  /* from the sink's place; NULL: through its write */
    _Atomic uint64_t remaining; /* source bytes still to come */
    _Atomic uint64_t overflow;
    _Atomic uint64_t flushed;
    _Atomic uint32_t crc; /* of the bytes so far, each moved to its place (XOR) */
    uint32_t plan;        /* row of run->plans */
    bool digest_only;     /* a mapped target, read for its CRC */
    bool has_bytes;       /* some step brings bytes of it */
    bool placed;          /* (lock) */
};

/* A contiguous range of one file, and the steps that want some of it. */
struct nwi_unit {
    uint64_t begin; /* in the file */
    uint64_t end;
    uint64_t seq; /* number in claim order: the error with the lowest one counts */
    size_t first_step;
    uint32_t file;
};

/* A buffer that a unit is read into. Belongs to one worker. */
struct nwi_slot {
    uint8_t *buffer; /* [capacity], aligned to a page */
    size_t capacity;
    const uint8_t *data; /* the unit's first byte, once read; NULL: the bytes went
                            straight to their destinations */
    struct nwi_unit unit;
    bool busy;
    bool in_window; /* data lies in the file's window: to be left after use */
};

#define NWI_SLOTS_MOST         24u
#define NWI_READER_STATE_BYTES 256u

struct nwi_run;

struct nwi_worker {
    struct nwi_run *run;
    /* Private to the reader row. */
    _Alignas(16) unsigned char reader_state[NWI_READER_STATE_BYTES];
    uint8_t *out; /* [out_size]: casts whose sink gives no destination */
    size_t out_size;
    uint32_t n_slots;
    struct nwi_slot slots[NWI_SLOTS_MOST];
    pthread_t thread;
    bool started;
    struct nw_error error; /* of the unit or call at hand */
};

/* How bytes get from a file into a slot; one row a backend. */
struct nwi_reader {
    const char *name;
    bool in_place;     /* may read copied bytes straight to where they go */
    bool direct;       /* past the page cache: slots and offsets on 4 KiB boundaries */
    uint32_t depth;    /* slots wanted by a worker */
    size_t unit_bytes; /* wanted size of a unit */
    /* Optional pair: set-up and tear-down of worker->reader_state. */
    int (*open)(struct nwi_worker *worker, struct nw_error *err);
    void (*close)(struct nwi_worker *worker);
    /* Begins to read slot->unit. */
    int (*submit)(struct nwi_worker *worker, struct nwi_slot *slot,
                  struct nw_error *err);
    /* Waits for one busy slot; *out is set also on failure, if it is known which. */
    int (*wait)(struct nwi_worker *worker, struct nwi_slot **out, struct nw_error *err);
    /* Optional: the slot's data is not needed any more. */
    void (*release)(struct nwi_worker *worker, struct nwi_slot *slot);
};

extern const struct nwi_reader nwi_reader_pread;
extern const struct nwi_reader nwi_reader_mmap;
extern const struct nwi_reader nwi_reader_direct;
/* Only in builds with NWI_HAVE_URING. */
extern const struct nwi_reader nwi_reader_uring;
bool nwi_uring_works(void); /* containers often forbid it */

/* Page granularity of direct reads: every common device and file system accepts it. */
#define NWI_DIRECT_ALIGN ((size_t)4096)

struct nwi_run {
    struct nw_plan *const *plans;
    size_t n_plans;
    const size_t *first_target; /* [n_plans]: global number of a plan's first target */
    size_t n_targets;
    struct nwi_target_state *states; /* [n_targets] */
    struct nwi_sink sink;
    enum nwi_purpose purpose;
    const struct nwi_reader *reader;
    struct nw_checkpoint *ckpt;
    struct nwi_memory *memory; /* of this run */
    uint64_t *step_refs; /* [n_steps]: plan << 32 | step; NULL for a single plan */
    size_t n_steps;
    int *direct_fds; /* [ckpt->n_files], -1: none; NULL unless reader->direct */
    struct nwi_window *windows; /* [ckpt->n_files], fd -1: none */
    size_t unit_bytes;          /* largest unit */
    uint64_t total_bytes;       /* that will be read, for progress */

    struct nwi_monitor monitor;
    size_t cursor;          /* (lock) first step with bytes left to claim */
    uint32_t position_file; /* (lock) */
    uint64_t position;      /* (lock) in that file: claimed up to here */
    uint64_t n_units;       /* (lock) claimed so far */
    size_t n_settled;       /* (lock) targets below it are placed, or wait for bytes */
    uint32_t n_running;     /* (lock) workers that have not ended */
    struct nw_error error;  /* (lock) code NW_OK: none yet */
    uint64_t error_seq;     /* (lock) */
    atomic_bool stop;       /* an error or a cancel: claim nothing more */
    _Atomic uint64_t done_bytes;
    struct nw_result_figures figures;
};

struct nwi_run_request {
    struct nw_plan *const *plans; /* of one checkpoint, none refused */
    size_t n_plans;
    const size_t *first_target;      /* [n_plans] */
    struct nwi_target_state *states; /* [all targets], zeroed; filled in */
    struct nwi_sink sink;
    enum nwi_purpose purpose;
    struct nwi_memory *memory;
    const struct nw_run_options *options; /* complete */
};

/* Moves every byte; fills the states and *figures (predicted_peak_bytes and peak_bytes
 * aside). On failure nothing of it is left but what the sink holds. */
int nwi_run(const struct nwi_run_request *request, struct nw_result_figures *figures,
            struct nw_error *err);

/* ---- between engine.c, claim.c, process.c, backend.c and the readers ---- */

static inline const struct nwi_step *nwi_run_step(const struct nwi_run *run, size_t i,
                                                  size_t *plan)
{
    uint64_t ref = run->step_refs ? run->step_refs[i] : i;
    *plan = run->step_refs ? (size_t)(ref >> 32) : 0;
    return &run->plans[*plan]->steps[run->step_refs ? (ref & UINT32_MAX) : i];
}

/* True if the run reads that step's bytes. */
static inline bool nwi_run_wants(const struct nwi_run *run, const struct nwi_step *step,
                                 size_t plan)
{
    return nwi_step_wanted(run->plans[plan], step, run->purpose);
}

/* The next unit in file order, its targets placed; false if there is none left, or all
 * stops. */
bool nwi_claim(struct nwi_worker *worker, struct nwi_unit *unit);

/* Places and ends the targets below `before` that no byte will come for. In plan order
 * with those that wait for bytes. (lock) while workers run. */
int nwi_settle_empty(struct nwi_run *run, size_t before, struct nw_error *err);

/* The part of a unit that one step wants. */
struct nwi_piece {
    const struct nwi_target *target;
    struct nwi_target_state *state;
    size_t number;       /* of the target, over all plans */
    uint64_t offset;     /* in the file */
    uint64_t nbytes;     /* of the source */
    uint64_t dst_offset; /* bytes in the target */
    uint64_t dst_nbytes;
};

/* Walks the pieces of a unit: start with *at = unit->first_step; false at the end. */
bool nwi_unit_piece(const struct nwi_run *run, const struct nwi_unit *unit, size_t *at,
                    struct nwi_piece *piece);

/* True if every piece is copied to a destination in memory. */
bool nwi_unit_in_place(const struct nwi_run *run, const struct nwi_unit *unit);

/* Converts and delivers what was read. */
int nwi_process(struct nwi_worker *worker, const struct nwi_slot *slot,
                struct nw_error *err);

/* Makes the elements of a target that no file holds; nothing for others. (lock) while workers
 * run: such targets are small. */
int nwi_make_filled(struct nwi_run *run, size_t number, struct nw_error *err);

/* Picks run->reader; figures.backend and .reason say which and why. */
int nwi_choose_backend(struct nwi_run *run, struct nw_error *err);

/* Opens direct_fds; false if the file system refuses O_DIRECT for one of the files. */
bool nwi_direct_open(struct nwi_run *run);
void nwi_direct_close(struct nwi_run *run);

/* The windows of all files (window.h); false if one cannot be had. Close in either case. */
bool nwi_windows_open(struct nwi_run *run);
void nwi_windows_close(struct nwi_run *run);

/* The aligned range around a unit, for direct reads, as far as the slot and file go. */
void nwi_direct_range(const struct nwi_unit *unit, uint64_t *begin, uint64_t *end);

/* Reads the unit through the page cache: what every other reader falls back to. */
int nwi_read_buffered(struct nwi_worker *worker, struct nwi_slot *slot,
                      struct nw_error *err);

/* Keeps the error with the lowest unit number and stops the run. */
void nwi_run_fail(struct nwi_run *run, uint64_t seq, const struct nw_error *error);

#endif
