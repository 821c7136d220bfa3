/* SPDX-License-Identifier: Apache-2.0
 * Between the files of the file sink (output*.c, save*.c): what an output is while it
 * is laid out, filled and committed. Nobody else includes this, tests aside.
 *
 * Every file is reached by a name relative to one open folder, the root: the output
 * folder, or the folder of the one file that was asked for. */
#ifndef NWI_OUTPUT_PARTS_H
#define NWI_OUTPUT_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread.h"
#include "run/output.h"
#include "source/names.h"

#define NWI_OUTPUT_PATH         4096u  /* buffer for a relative name and its NUL */
#define NWI_OUTPUT_SHARDS_MOST  99999u /* five digits in the names */
#define NWI_OUTPUT_VARIANT_MOST 64u    /* bytes: names stay below the system's 255 */

/* What stands for the model_index.json of an unfinished save, while it is written. */
#define NWI_OUTPUT_UNFINISHED "model_index.unfinished"

/* Where a target's bytes go. Read-only once begin has returned. */
struct nwi_output_place {
    uint64_t offset; /* of its first byte, from the start of the file */
    uint32_t file;   /* row of files */
};

enum nwi_output_state {
    NWI_OUTPUT_ABSENT,
    NWI_OUTPUT_TEMPORARY, /* exists under its temporary name */
    NWI_OUTPUT_SYNCED,    /* complete there, and on the disk */
    NWI_OUTPUT_IN_PLACE   /* has its final name */
};

/* One file of weights. */
struct nwi_output_file {
    uint64_t nbytes;       /* header included */
    _Atomic uint64_t left; /* data bytes still to come */
    uint32_t set;          /* row of sets */
    uint32_t n_tensors;
    uint32_t number;       /* while shards are packed: its place among them, from 0 */
    _Atomic uint8_t state; /* enum nwi_output_state */
};

/* A key and value of the header's metadata; borrowed. */
struct nwi_output_pair {
    const char *key;
    const char *value; /* NULL: left out */
    size_t key_size;
    size_t value_size;
    bool given; /* by the caller's options */
};

/* The weights of one plan: one file, or shards and their index. */
struct nwi_output_set {
    const struct nw_plan *plan;
    const char *folder;   /* below the root; "" for the root itself */
    const char *stem;     /* NULL if one file of a given name was asked for */
    const char *dtype;    /* torch's name of what the config must now say, or NULL */
    size_t first_target;  /* counted over all plans */
    uint64_t total_bytes; /* of all its tensors */
    uint64_t index_bytes; /* size of the index file */
    uint32_t first_file;  /* row of files */
    uint32_t n_files;     /* more than one: sharded */
    uint8_t index_state;  /* enum nwi_output_state */
    struct nwi_output_pair *pairs; /* [pairs_room]; only during begin */
    size_t pairs_room;
    size_t n_pairs;
};

/* A file that holds no weights. */
struct nwi_output_other {
    const char *name;  /* relative to the root */
    const char *path;  /* of the input; NULL: `text` */
    const char *text;  /* its whole content, where it is made */
    const char *dtype; /* what a config is to say, or NULL: copied as it is */
    uint64_t nbytes;   /* as written */
    uint8_t state;     /* enum nwi_output_state; ABSENT: nothing to do */
    bool last;         /* model_index.json of a pipeline: put in place after all else */
};

/* A target while its file is laid out; rows are sorted by file, then by place in it. */
struct nwi_output_row {
    const struct nwi_target *target;
    uint32_t file;   /* row of files */
    uint32_t number; /* of the target, over all plans */
};

#define NWI_OUTPUT_SLOTS   32u /* files open at a time */
#define NWI_OUTPUT_WINDOWS 8u  /* being written back at a time, per file */

/* A range of a file, empty if end is 0. */
struct nwi_output_range {
    uint64_t begin;
    uint64_t end;
};

/* An open temporary. All fields: inside output->monitor. */
struct nwi_output_slot {
    int fd;                        /* -1: free */
    uint32_t file;                 /* row of files */
    uint32_t users;                /* writers inside */
    bool closing;                  /* complete: the last user closes it */
    uint64_t tick;                 /* when it was last taken */
    uint64_t dirty_bytes;          /* written and not yet on their way to the disk */
    struct nwi_output_range dirty; /* where they lie */
    uint32_t n_windows;            /* started so far */
    struct nwi_output_range windows[NWI_OUTPUT_WINDOWS]; /* the last of them, a ring */
};

/* Called before every step of a commit that changes or syncs a folder. Returns 0, or an
 * errno that the step then fails with. Tests stop a process here. */
struct nwi_output_hook {
    int (*step)(void *ctx, const char *what, const char *name);
    void *ctx;
};

struct nwi_output {
    struct nwi_memory *memory; /* of the run; retained */
    struct nwi_arena arena;
    const struct nw_checkpoint *ckpt;   /* the plans keep it alive */
    const struct nwi_output_hook *hook; /* NULL but in tests */

    const char *root_path;    /* for messages */
    int root;                 /* descriptor of that folder */
    const char *single;       /* name of the one file asked for, or NULL: a folder */
    const char *variant;      /* NULL: none */
    uint64_t max_shard_bytes; /* UINT64_MAX: no limit */
    bool overwrite;
    bool pipeline; /* a subfolder for each plan */
    bool parts;    /* the plans are parts of files, not components of a folder */
    const char **
        lacking; /* [n_lacking] parts of the pipeline that could not be made; on arena */
    size_t n_lacking;
    bool root_created;
    bool committed;
    bool past_return; /* what was there before cannot be had back: temporaries stay */
    char suffix[64];  /* of the temporaries' names */

    struct nwi_output_set *sets; /* [n_sets], one a plan */
    size_t n_sets;
    struct nwi_output_place *places; /* [n_targets], over all plans */
    size_t n_targets;
    struct nwi_output_file *files; /* [files_room]: as many as there can be */
    size_t files_room;
    size_t n_files;
    struct nwi_output_other *others; /* [others_room] */
    size_t others_room;
    size_t n_others;
    const char **folders; /* [folders_room]; those that begin created */
    size_t folders_room;
    size_t n_folders;
    const char **dropped; /* [dropped_room]; metadata keys, on the checkpoint */
    size_t dropped_room;
    size_t n_dropped;
    struct nw_written *written; /* [written_room] */
    size_t written_room;
    size_t n_written;
    char *written_names; /* [written_names_size] */
    size_t written_names_size;

    struct nwi_monitor monitor;
    bool monitor_ready;
    uint64_t tick;                                  /* (monitor) */
    struct nwi_output_slot slots[NWI_OUTPUT_SLOTS]; /* (monitor) */
};

/* ---- names (output_name.c); `out` holds NWI_OUTPUT_PATH bytes ---- */

/* Final name of a file of weights, of a set's index, and of any file's temporary. */
void nwi_output_file_name(const struct nwi_output *output, size_t file, char *out);
void nwi_output_index_name(const struct nwi_output *output,
                           const struct nwi_output_set *set, bool legacy, char *out);
void nwi_output_single_name(const struct nwi_output *output,
                            const struct nwi_output_set *set, char *out);
void nwi_output_temp_name(const struct nwi_output *output, const char *name, char *out);
/* "folder/name", or the name alone; and the folder of that, "" for none. */
void nwi_output_join(const char *folder, const char *name, char *out);
void nwi_output_folder_of(const char *name, char *out);
/* Draws the suffix of this output's temporaries. */
void nwi_output_draw_suffix(struct nwi_output *output);

/* What a file is to a save of that stem and variant. */
enum nwi_save_kind {
    NWI_SAVE_NONE, /* nothing: not to be touched */
    NWI_SAVE_SINGLE,
    NWI_SAVE_SHARD,        /* numbers: its own, from 1, and how many there are */
    NWI_SAVE_LEGACY_SHARD, /* in the old spelling of variants */
    NWI_SAVE_INDEX         /* in either spelling */
};
enum nwi_save_kind nwi_save_kind(const char *name, const char *stem,
                                 const char *variant, uint32_t numbers[2]);

/* True for a temporary; *final_size bytes from name + 1 are its final name (or begin
 * it), *pid is the process that made it, 0 if it was given up. */
bool nwi_output_is_temp(const char *name, size_t *final_size, uint64_t *pid);

/* ---- where to (output_target.c) ---- */

/* Decides between file and folder, refuses what may not be written, opens the root and
 * makes the folders. */
int nwi_output_open_target(struct nwi_output *output, const char *path,
                           struct nw_error *err);
/* Makes a folder below the root, and those above it, unless they are there. */
int nwi_output_make_folder(struct nwi_output *output, const char *name,
                           struct nw_error *err);
/* Calls fn for the names in a folder below the root until it returns a code. */
int nwi_output_each_name(const struct nwi_output *output, const char *folder,
                         int (*fn)(void *ctx, const char *name), void *ctx,
                         struct nw_error *err);
/* Creates the temporary of `name`, with the permissions of the file it will replace. */
int nwi_output_create(const struct nwi_output *output, const char *name, int *fd,
                      struct nw_error *err);
/* Adds the file's path to a failure. */
int nwi_output_in_file(const struct nwi_output *output, const char *name,
                       struct nw_error *err, int code);

/* ---- layout (output_layout.c) ---- */

/* Shards of a set by the rule that diffusers follows; fills files, and
 * places[].file. */
int nwi_output_pack(struct nwi_output *output, struct nwi_output_set *set,
                    struct nw_error *err);
/* Fills the rows [n_targets of the set] and puts them in the order of the files. */
void nwi_output_order(const struct nwi_output *output, const struct nwi_output_set *set,
                      struct nwi_output_row *rows, struct nwi_output_row *spare);
/* The same rows by name, for the index. */
void nwi_output_order_by_name(struct nwi_output_row *rows, struct nwi_output_row *spare,
                              size_t n);
/* Number of rows, from the first on, that are of its file. */
size_t nwi_output_run_length(const struct nwi_output_row *rows, size_t n);
/* Sizes the headers, then fills places[].offset and files[]. */
int nwi_output_place_all(struct nwi_output *output, const struct nwi_output_set *set,
                         const struct nwi_output_row *rows, struct nw_error *err);
/* True if a target is a stored tensor under its own name, byte for byte. */
bool nwi_output_is_identity(const struct nw_plan *plan,
                            const struct nwi_target *target);
/* True if the set's data are those of its input, cut into files alike. */
bool nwi_output_is_unchanged(const struct nwi_output_set *set,
                             const struct nwi_output_row *rows);

/* ---- header, index, metadata ---- */

/* Bytes before the data: length field, JSON, padding. LIMIT. */
int nwi_output_header_size(const struct nwi_output_set *set,
                           const struct nwi_output_row *rows, size_t n, uint64_t *out,
                           struct nw_error *err);
/* Writes them; `size` is what header_size gave. */
int nwi_output_header_write(int fd, const struct nwi_output_set *set,
                            const struct nwi_output_row *rows, size_t n, uint64_t size,
                            struct nw_error *err);
/* Writes the index of a sharded set; rows by name. */
int nwi_output_index_write(const struct nwi_output *output, struct nwi_output_set *set,
                           const struct nwi_output_row *rows, int fd,
                           struct nw_error *err);

/* Collects set->pairs from the input and the options, and the keys dropped. */
int nwi_output_metadata(struct nwi_output *output, struct nwi_output_set *set,
                        const struct nwi_output_row *rows,
                        const struct nw_write_options *options, struct nw_error *err);
/* ARG if an entry is not KEY=VALUE. */
int nwi_output_check_metadata(const struct nw_write_options *options,
                              struct nw_error *err);
void nwi_output_metadata_free(struct nwi_output *output, struct nwi_output_set *set);

/* ---- the other files of a folder (output_folder.c, output_config.c) ---- */

/* Number of others, at most, and the bytes of their names. */
void nwi_output_count_others(const struct nwi_output *output, size_t *n,
                             size_t *nbytes);
/* Adds one to the list (names are copied); of `path` and `text` one is NULL. */
int nwi_output_add_other(struct nwi_output *output, const char *name, const char *path,
                         const char *text, const char *dtype, struct nw_error *err);
/* What makes a pipeline folder of an all-in-one file: configs, model_index.json, scheduler,
 * and whatever the folder of --config has beside weights (output_pipeline.c). */
int nwi_output_add_pipeline(struct nwi_output *output, struct nw_error *err);
/* Writes the temporaries of all files that hold no weights. */
int nwi_output_write_others(struct nwi_output *output, struct nw_error *err);
/* torch's name of the one dtype that the plan's floating tensors were changed to, or
 * NULL. */
const char *nwi_output_new_dtype(const struct nw_plan *plan);
/* Writes a config with its dtype brought up to date, else byte for byte. */
int nwi_output_config_write(const char *text, size_t size, const char *dtype, int fd,
                            struct nwi_arena *arena, struct nw_error *err);
/* True if the text is an object with a "_class_name": a config of diffusers. */
bool nwi_output_config_is_diffusers(const char *path, struct nwi_memory *memory);

/* ---- bytes (output_write.c) ---- */

/* All of it, or an error with the offset and errno. */
int nwi_output_pwrite(int fd, uint64_t offset, const void *data, size_t size,
                      struct nw_error *err);
int nwi_output_fsync(int fd, struct nw_error *err);
/* Asks for the whole file at once, so that a full disk is known now. Where the file
 * system cannot, the file grows as it is written. */
int nwi_output_reserve(int fd, uint64_t nbytes, struct nw_error *err);
/* nwi_sink.write. */
int nwi_output_write(void *ctx, size_t target, uint64_t offset, const void *data,
                     size_t nbytes, struct nw_error *err);
void nwi_output_close_slots(struct nwi_output *output);

/* ---- commit (output_written.c, save_commit.c, save_stale.c) ---- */

/* Fills output->written once everything is laid out. */
int nwi_output_list_written(struct nwi_output *output, struct nw_error *err);

/* Removes what earlier saves left beside the new files, as far as it can be removed. */
void nwi_save_sweep(const struct nwi_output *output);

/* After a failure: removes the temporaries; where the folder cannot be had back as it
 * was, they stay, to finish the save from, and are marked as given up. */
void nwi_save_roll_back(struct nwi_output *output);

#endif
