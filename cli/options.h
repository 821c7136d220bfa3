/* SPDX-License-Identifier: Apache-2.0
 * The command line: one const table of options and one of commands. Parsing, help and
 * the completions all read these two tables, so an option exists in one place only. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "netweight.h"

enum cli_command {
    CLI_INSPECT = 0,
    CLI_PLAN,
    CLI_LOAD,
    CLI_CONVERT,
    CLI_DIFF,
    CLI_VERIFY,
    CLI_FAMILIES,
    CLI_COMMAND_COUNT,
    CLI_NO_COMMAND =
        CLI_COMMAND_COUNT /* none was given: only options of all commands */
};

/* What users see of a command; the functions that do it are main.c's. */
struct cli_command_row {
    const char *name;
    const char *arguments; /* "IN OUT" */
    const char *summary;   /* half a line */
    size_t min_paths;
    size_t max_paths;
};

extern const struct cli_command_row cli_commands[CLI_COMMAND_COUNT];

enum cli_kind {
    CLI_FLAG,    /* bool, no argument */
    CLI_COUNT,   /* uint32_t, no argument, counts how often */
    CLI_TEXT,    /* const char * */
    CLI_LIST,    /* struct cli_list, one item an occurrence */
    CLI_PAIRS,   /* struct cli_list, each item holds a '=' behind at least one character
                  */
    CLI_COMMAS,  /* struct cli_list, items split at commas */
    CLI_CHOICE,  /* uint32_t, index of the word in `value` */
    CLI_SET,     /* uint32_t, bit i for the i-th word of `value`, split at commas */
    CLI_SIZE,    /* uint64_t, bytes, more than 0 */
    CLI_BUDGET,  /* uint64_t, bytes or "auto" = NW_BUDGET_AUTO */
    CLI_THREADS, /* uint32_t, 0 becomes NW_THREADS_NONE */
    CLI_DTYPE,   /* int32_t, enum nw_dtype */
    CLI_TOLERANCE, /* struct cli_tolerance, "ABS[,REL]" */
    CLI_DEVICES    /* const char *, a device map */
};

enum cli_group {
    CLI_GROUP_COMMAND = 0, /* of this command alone */
    CLI_GROUP_SELECT,
    CLI_GROUP_NUMBERS,
    CLI_GROUP_NAMES,
    CLI_GROUP_ENGINE,
    CLI_GROUP_WRITE,
    CLI_GROUP_COMMON,
    CLI_GROUP_HIDDEN, /* not in the help */
    CLI_GROUP_COUNT
};

struct cli_option_row {
    const char *name; /* without the dashes */
    char letter;      /* short form, 0: none */
    bool later;    /* understood, but a later version does it: UNSUPPORTED when used */
    uint8_t kind;  /* enum cli_kind */
    uint8_t group; /* enum cli_group */
    uint16_t commands; /* bit c for enum cli_command c */
    const char *value; /* CHOICE and SET: the words, split by '|'; else what the
                          argument is called, NULL if it takes none */
    size_t field;      /* offset in struct cli_options */
    const char *help;  /* one line, lower case */
};

extern const struct cli_option_row cli_option_rows[];
extern const size_t cli_option_count;

struct cli_tolerance {
    double absolute;
    double relative;
};

/* Everything that was asked for. Zero is the default of each field; enums in the order
 * of netweight.h, others in the order of the words in the table. By size, to leave no
 * holes. */
struct cli_options {
    const struct cli_option_row
        *later;              /* the first option used that this version lacks */
    struct cli_copy *copies; /* what items of lists point into */
    struct cli_list paths;
    struct cli_list only;
    struct cli_list drop;
    struct cli_list rename;
    struct cli_list ignore;
    struct cli_list dtype_rules;
    struct cli_list keep_fp32;
    struct cli_list metadata;
    struct cli_list hints;
    struct cli_list with;

    const char *unused_text; /* arguments of options that come later */
    const char *klass;
    const char *config;
    const char *completions;
    const char *component;
    const char *subfolder;
    const char *variant;
    const char *revision;
    const char *prefix;
    const char *device_map;
    const char *out_variant;

    struct cli_tolerance tolerance;
    uint64_t header_limit;
    uint64_t budget;
    uint64_t scratch;
    uint64_t max_shard_size;

    enum cli_command command;
    uint32_t verbose;
    uint32_t color;           /* auto always never */
    uint32_t use_safetensors; /* enum nw_choice */
    uint32_t tolerate;        /* enum nw_tolerate_flag */
    uint32_t pickle;          /* inert refuse */
    uint32_t layout;          /* enum nw_layout */
    uint32_t missing;         /* enum nw_missing */
    uint32_t unexpected;      /* enum nw_unexpected */
    int32_t dtype;            /* enum nw_dtype */
    uint32_t fp8_overflow;    /* enum nw_fp8_overflow */
    uint32_t dequantise;      /* enum nw_choice */
    uint32_t copy;            /* enum nw_copy */
    uint32_t threads;
    uint32_t backend; /* enum nw_backend */
    uint32_t format;  /* safetensors gguf */
    uint32_t hash;    /* bits: sha256 autov2 autov3 */

    bool help;
    bool version;
    bool json;
    bool quiet;
    bool no_progress;
    bool recursive;
    bool tensors;
    bool quick;
    bool values;
    bool map;
    bool follow_links;
    bool flat;
    bool ema;
    bool ignore_mismatched_sizes;
    bool no_keep_fp32;
    bool strict_cast;
    bool prefault;
    bool digest;
    bool overwrite;
};

/* Reads argv[1..argc) into *options, which needs no initialisation. Reads to the end
 * even after a mistake, so that `json` counts wherever it stands. NW_E_ARG with the
 * first mistake, NW_E_NOMEM. cli_options_release is due in every case. */
int cli_options_parse(struct cli_options *options, int argc, char *const *argv,
                      struct nw_error *err);
void cli_options_release(struct cli_options *options);

/* NW_E_UNSUPPORTED naming the option if something was asked for that comes later. */
int cli_options_check(const struct cli_options *options, struct nw_error *err);

/* The row of `--name`, of that length; NULL if there is none. */
const struct cli_option_row *cli_option_find(const char *name, size_t size);

/* The words an argument may be, split by '|', as far as they can be listed (a SIZE is
 * any, a dtype has more spellings than these); NULL for any text. */
const char *cli_option_words(const struct cli_option_row *row);

/* Whether a command takes an option. */
bool cli_option_fits(const struct cli_option_row *row, enum cli_command command);

/* Fills err, unless it holds an earlier failure; returns the code. */
__attribute__((format(printf, 3, 4))) int cli_error(struct nw_error *err, int code,
                                                    const char *format, ...);

#endif
