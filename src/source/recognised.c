/* SPDX-License-Identifier: Apache-2.0
 * Containers that are recognised and named, but cannot be read yet. */
#include "source/recognised.h"

#include <string.h>

static bool begins(const struct nwi_probe *probe, const char *magic, size_t size)
{
    return probe->head_size >= size && memcmp(probe->head, magic, size) == 0;
}

static bool holds(const uint8_t *data, size_t size, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp(data + i, text, length) == 0)
            return true;
    }
    return false;
}

/* ---- gguf: "GGUF", u32 version, u64 tensors, u64 keys ---- */

static bool is_gguf(const struct nwi_probe *probe)
{
    return begins(probe, "GGUF", 4);
}

const struct nwi_format nwi_format_gguf = {
    .container = "gguf", .label = "GGUF", .suffix = ".gguf", .probe = is_gguf};

/* ---- zip: names of entries stand in local headers and in the directory at the end
 * ---- */

bool nwi_probe_is_zip(const struct nwi_probe *probe)
{
    return begins(probe, "PK\3\4", 4) || begins(probe, "PK\5\6", 4);
}

bool nwi_probe_zip_names(const struct nwi_probe *probe, const char *name)
{
    return holds(probe->head, probe->head_size, name) ||
           holds(probe->tail, probe->tail_size, name);
}

static bool is_torch_zip(const struct nwi_probe *probe)
{
    return nwi_probe_is_zip(probe) && nwi_probe_zip_names(probe, "/data.pkl");
}

const struct nwi_format nwi_format_torch_zip = {.container = "torch-zip",
                                                .label = "torch zip",
                                                .suffix = ".pt",
                                                .probe = is_torch_zip};

static bool is_dduf(const struct nwi_probe *probe)
{
    return nwi_probe_is_zip(probe) && nwi_probe_zip_names(probe, "model_index.json");
}

const struct nwi_format nwi_format_dduf = {
    .container = "dduf", .label = "DDUF", .suffix = ".dduf", .probe = is_dduf};

/* ---- torch before 1.6: five pickles one after the other, the first is a magic number;
 * any other binary pickle counts here too ---- */

static bool is_torch_legacy(const struct nwi_probe *probe)
{
    /* PROTO 2 to 5, then an opcode that can begin a pickle: frame, mark, empty
     * containers, global, long1, text, number. */
    static const char openers[] = "\x95(}])c\x8a\x8cXKMJGN\x88\x89\x80";
    const uint8_t *head = probe->head;
    return probe->head_size >= 3 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 &&
           memchr(openers, head[2], sizeof openers - 1) != NULL;
}

const struct nwi_format nwi_format_torch_legacy = {.container = "torch-legacy",
                                                   .label = "torch pickle",
                                                   .suffix = ".pt",
                                                   .probe = is_torch_legacy};

/* ---- torch before 0.1.10: a tar of sys_info, pickle, storages, tensors ---- */

bool nwi_probe_is_tar(const struct nwi_probe *probe)
{
    return probe->head_size >= 512 && memcmp(probe->head + 257, "ustar", 5) == 0;
}

static bool is_torch_tar(const struct nwi_probe *probe)
{
    static const char *const names[] = {"sys_info", "pickle", "storages", "tensors"};
    if (!nwi_probe_is_tar(probe))
        return false;
    const char *first = (const char *)probe->head;
    if (strncmp(first, "./", 2) == 0)
        first += 2;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(first, names[i], 90) == 0)
            return true;
    }
    return false;
}

const struct nwi_format nwi_format_torch_tar = {.container = "torch-tar",
                                                .label = "torch tar",
                                                .suffix = ".pt",
                                                .probe = is_torch_tar};

/* ---- flashpack: payload, JSON footer, u64 length of it, "FLASHPK\0" ---- */

static bool is_flashpack(const struct nwi_probe *probe)
{
    return probe->tail_size >= 8 &&
           memcmp(probe->tail + probe->tail_size - 8, "FLASHPK", 8) == 0;
}

const struct nwi_format nwi_format_flashpack = {.container = "flashpack",
                                                .label = "FlashPack",
                                                .suffix = ".flashpack",
                                                .probe = is_flashpack};
