/* SPDX-License-Identifier: Apache-2.0
 * The two tables. A new option is a field in options.h and a row here; the man page has
 * to name it too, which tests/cli checks. Texts hold no quotes: they go into shell
 * scripts. */
#include "options.h"

const struct cli_command_row cli_commands[CLI_COMMAND_COUNT] = {
    [CLI_INSPECT] = {"inspect", "PATH...", "say what files are", 1, SIZE_MAX},
    [CLI_PLAN] = {"plan", "PATH",
                  "say what a load would do and need, reading headers only", 1, 1},
    [CLI_LOAD] = {"load", "PATH", "load, and report peak memory and speed", 1, 1},
    [CLI_CONVERT] = {"convert", "IN OUT", "load into a safetensors file or folder", 2,
                     2},
    [CLI_DIFF] = {"diff", "A B", "compare names, types, shapes, metadata and values", 2,
                  2},
    [CLI_VERIFY] = {"verify", "PATH", "find everything that is wrong with files", 1, 1},
    [CLI_FAMILIES] = {"families", "", "list what can be recognised and converted", 0,
                      0},
};

#define BIT(command) (1 << (command))
#define LOADS        (BIT(CLI_PLAN) | BIT(CLI_LOAD) | BIT(CLI_CONVERT) | BIT(CLI_DIFF))
#define READS        (BIT(CLI_INSPECT) | BIT(CLI_VERIFY) | LOADS)
#define LISTS        (BIT(CLI_PLAN) | BIT(CLI_LOAD) | BIT(CLI_CONVERT))
#define CONVERTS     BIT(CLI_CONVERT)
#define ALL          ((1 << (CLI_COMMAND_COUNT + 1)) - 1)

#define FIELD(name) offsetof(struct cli_options, name)

/* clang-format off */
const struct cli_option_row cli_option_rows[] = {
    /* of one command */
    {"recursive", 0, false, CLI_FLAG, CLI_GROUP_COMMAND, BIT(CLI_INSPECT), NULL,
     FIELD(recursive), "every checkpoint below each folder"},
    {"tensors", 0, false, CLI_FLAG, CLI_GROUP_COMMAND, BIT(CLI_INSPECT), NULL,
     FIELD(tensors), "list every tensor"},
    {"quick", 0, false, CLI_FLAG, CLI_GROUP_COMMAND, BIT(CLI_VERIFY), NULL,
     FIELD(quick), "read headers only"},
    {"values", 0, false, CLI_FLAG, CLI_GROUP_COMMAND, BIT(CLI_DIFF), NULL,
     FIELD(values), "compare element by element"},
    {"tolerance", 0, false, CLI_TOLERANCE, CLI_GROUP_COMMAND, BIT(CLI_DIFF), "ABS[,REL]",
     FIELD(tolerance), "values may differ by ABS + REL * |b|"},
    {"map", 0, false, CLI_FLAG, CLI_GROUP_COMMAND, LISTS, NULL,
     FIELD(map), "list every result tensor and its parts"},

    /* what to read */
    {"component", 0, false, CLI_TEXT, CLI_GROUP_SELECT, READS, "NAME",
     FIELD(component), "this part of a pipeline: unet, vae, ..."},
    {"class", 0, false, CLI_TEXT, CLI_GROUP_SELECT, LOADS, "NAME",
     FIELD(klass), "the class, such as UNet2DConditionModel"},
    {"config", 0, false, CLI_TEXT, CLI_GROUP_SELECT, LOADS, "FILE|DIR",
     FIELD(config), "config.json, the folder it lies in, or a yaml"},
    {"subfolder", 0, false, CLI_TEXT, CLI_GROUP_SELECT, READS, "NAME",
     FIELD(subfolder), "folder below PATH that holds the model"},
    {"variant", 0, false, CLI_TEXT, CLI_GROUP_SELECT, READS, "NAME",
     FIELD(variant), "weights of this variant, such as fp16"},
    {"use-safetensors", 0, false, CLI_CHOICE, CLI_GROUP_SELECT, READS, "auto|yes|no",
     FIELD(use_safetensors), "prefer, demand or avoid .safetensors"},
    {"revision", 0, false, CLI_TEXT, CLI_GROUP_SELECT, READS, "NAME",
     FIELD(revision), "branch, tag or commit of a hub cache entry"},
    {"only", 0, false, CLI_LIST, CLI_GROUP_SELECT, LOADS, "PATTERN",
     FIELD(only), "just the tensors whose names match"},
    {"drop", 0, false, CLI_LIST, CLI_GROUP_SELECT, LOADS, "PATTERN",
     FIELD(drop), "all tensors but those"},
    {"ema", 0, false, CLI_FLAG, CLI_GROUP_SELECT, LOADS, NULL,
     FIELD(ema), "the EMA weights of the file"},
    {"missing", 0, false, CLI_CHOICE, CLI_GROUP_SELECT, LOADS, "error|init|zero|allow",
     FIELD(missing), "what to do about missing tensors"},
    {"unexpected", 0, false, CLI_CHOICE, CLI_GROUP_SELECT, LOADS, "warn|error|ignore",
     FIELD(unexpected), "what to do about tensors nobody wants"},
    {"ignore-mismatched-sizes", 0, false, CLI_FLAG, CLI_GROUP_SELECT, LOADS, NULL,
     FIELD(ignore_mismatched_sizes), "treat tensors of another shape as missing"},
    {"ignore", 0, false, CLI_LIST, CLI_GROUP_SELECT, LOADS, "PATTERN",
     FIELD(ignore), "tensors whose absence or presence is no fault"},
    {"hint", 0, false, CLI_PAIRS, CLI_GROUP_SELECT, LOADS, "KEY=VALUE",
     FIELD(hints), "answer to what a file cannot tell"},
    {"tolerate", 0, false, CLI_SET, CLI_GROUP_SELECT, READS, "trailing|metadata|dtype|index",
     FIELD(tolerate), "accept what strict reading refuses"},
    {"header-limit", 0, false, CLI_SIZE, CLI_GROUP_SELECT, READS, "SIZE",
     FIELD(header_limit), "largest header accepted (100MB)"},
    {"follow-links", 0, false, CLI_FLAG, CLI_GROUP_SELECT, READS, NULL,
     FIELD(follow_links), "accept links that leave the folder"},
    {"pickle", 0, false, CLI_CHOICE, CLI_GROUP_SELECT, READS, "inert|refuse",
     FIELD(pickle), "walk pickles without running them, or refuse"},

    /* numbers */
    {"dtype", 0, false, CLI_DTYPE, CLI_GROUP_NUMBERS, LOADS, "TYPE",
     FIELD(dtype), "auto, fp32, fp16, bf16, fp8_e4m3, fp8_e5m2, ..."},
    {"dtype-rule", 0, false, CLI_PAIRS, CLI_GROUP_NUMBERS, LOADS, "PATTERN=TYPE",
     FIELD(dtype_rules), "PATTERN may end in @rank<=N or @bytes<SIZE"},
    {"keep-fp32", 0, false, CLI_COMMAS, CLI_GROUP_NUMBERS, LOADS, "NAME[,NAME]",
     FIELD(keep_fp32), "parts of names that stay fp32"},
    {"no-keep-fp32", 0, false, CLI_FLAG, CLI_GROUP_NUMBERS, LOADS, NULL,
     FIELD(no_keep_fp32), "drop what the class keeps in fp32"},
    {"fp8-overflow", 0, false, CLI_CHOICE, CLI_GROUP_NUMBERS, LOADS, "saturate|nan",
     FIELD(fp8_overflow), "what fp8_e4m3 does with large values"},
    {"strict-cast", 0, false, CLI_FLAG, CLI_GROUP_NUMBERS, LOADS, NULL,
     FIELD(strict_cast), "overflow of a cast is an error"},
    {"dequantise", 0, false, CLI_CHOICE, CLI_GROUP_NUMBERS, LOADS, "auto|yes|no",
     FIELD(dequantise), "whether quantised tensors become floats"},

    /* names on the way out */
    {"flat", 0, false, CLI_FLAG, CLI_GROUP_NAMES, LOADS, NULL,
     FIELD(flat), "no model: names as stored"},
    {"layout", 0, false, CLI_CHOICE, CLI_GROUP_NAMES, LOADS, "auto|stored|diffusers|original",
     FIELD(layout), "whose names the result has"},
    {"prefix", 0, false, CLI_TEXT, CLI_GROUP_NAMES, LOADS, "TEXT",
     FIELD(prefix), "put before every name"},
    {"rename", 0, false, CLI_PAIRS, CLI_GROUP_NAMES, LOADS, "GLOB=NAME",
     FIELD(rename), "rename; each * of GLOB fills one of NAME"},

    /* memory and speed */
    {"device-map", 0, false, CLI_DEVICES, CLI_GROUP_ENGINE, LOADS, "MAP",
     FIELD(device_map), "auto, balanced, sequential, cpu, disk, or JSON"},
    {"max-memory", 0, true, CLI_TEXT, CLI_GROUP_ENGINE, LOADS, "DEVICE=SIZE,...",
     FIELD(unused_text), "what each device may hold"},
    {"offload-folder", 0, true, CLI_TEXT, CLI_GROUP_ENGINE, LOADS, "DIR",
     FIELD(unused_text), "where tensors mapped to disk go"},
    {"budget", 0, false, CLI_BUDGET, CLI_GROUP_ENGINE, LOADS, "SIZE|auto",
     FIELD(budget), "refuse if the peak would be larger"},
    {"copy", 0, false, CLI_CHOICE, CLI_GROUP_ENGINE, LOADS, "auto|always|never",
     FIELD(copy), "map same-type tensors, or copy them"},
    {"prefault", 0, false, CLI_FLAG, CLI_GROUP_ENGINE, LOADS, NULL,
     FIELD(prefault), "touch every mapped page before returning"},
    {"scratch", 0, false, CLI_SIZE, CLI_GROUP_ENGINE, LOADS, "SIZE",
     FIELD(scratch), "memory beside the result (64MiB)"},
    {"threads", 0, false, CLI_THREADS, CLI_GROUP_ENGINE, LOADS, "N",
     FIELD(threads), "workers; 0: the calling thread alone (automatic)"},
    {"backend", 0, false, CLI_CHOICE, CLI_GROUP_ENGINE, LOADS, "auto|mmap|pread|direct|uring",
     FIELD(backend), "how files are read"},
    {"digest", 0, false, CLI_FLAG, CLI_GROUP_ENGINE, LOADS, NULL,
     FIELD(digest), "CRC-32 of every result tensor"},

    /* writing */
    {"format", 0, false, CLI_CHOICE, CLI_GROUP_WRITE, CONVERTS, "safetensors|gguf",
     FIELD(format), "container of OUT"},
    {"max-shard-size", 0, false, CLI_SIZE, CLI_GROUP_WRITE, CONVERTS, "SIZE",
     FIELD(max_shard_size), "split into files of at most this (one file)"},
    {"out-variant", 0, false, CLI_TEXT, CLI_GROUP_WRITE, CONVERTS, "NAME",
     FIELD(out_variant), "put into the names of the files"},
    {"overwrite", 0, false, CLI_FLAG, CLI_GROUP_WRITE, CONVERTS, NULL,
     FIELD(overwrite), "replace an earlier OUT"},
    {"metadata", 0, false, CLI_PAIRS, CLI_GROUP_WRITE, CONVERTS, "KEY=VALUE",
     FIELD(metadata), "set a key; KEY= deletes it"},
    {"with", 0, false, CLI_PAIRS, CLI_GROUP_WRITE, CONVERTS, "NAME=FILE",
     FIELD(with), "take that component from another file"},
    {"hash", 0, false, CLI_SET, CLI_GROUP_COMMAND, CONVERTS | BIT(CLI_INSPECT),
     "sha256|autov2|autov3", FIELD(hash), "the hashes that model sites use"},

    /* everywhere */
    {"json", 0, false, CLI_FLAG, CLI_GROUP_COMMON, ALL, NULL,
     FIELD(json), "one JSON document on standard output"},
    {"quiet", 'q', false, CLI_FLAG, CLI_GROUP_COMMON, ALL, NULL,
     FIELD(quiet), "nothing but errors"},
    {"verbose", 'v', false, CLI_COUNT, CLI_GROUP_COMMON, ALL, NULL,
     FIELD(verbose), "more of everything"},
    {"no-progress", 0, false, CLI_FLAG, CLI_GROUP_COMMON, ALL, NULL,
     FIELD(no_progress), "no progress bar"},
    {"color", 0, false, CLI_CHOICE, CLI_GROUP_COMMON, ALL, "auto|always|never",
     FIELD(color), "colours; auto: on a terminal"},
    {"help", 'h', false, CLI_FLAG, CLI_GROUP_COMMON, ALL, NULL,
     FIELD(help), "this text"},
    {"version", 0, false, CLI_FLAG, CLI_GROUP_COMMON, ALL, NULL,
     FIELD(version), "version, optional features, CPU level"},
    {"completions", 0, false, CLI_TEXT, CLI_GROUP_HIDDEN, BIT(CLI_NO_COMMAND), "bash|zsh|fish",
     FIELD(completions), "completions for a shell"},
};
/* clang-format on */

const size_t cli_option_count = sizeof cli_option_rows / sizeof *cli_option_rows;
