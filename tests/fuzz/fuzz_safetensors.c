/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as one file: strictly, tolerantly, and with everything reported. What one way
 * accepts the more tolerant ones accept too. */
#include "check.h"

/* The code of opening; checks whatever came out. */
static int open_as(const uint8_t *data, size_t size, uint32_t flags, uint32_t tolerate)
{
    struct nw_open_options options = NW_OPTIONS_INIT(options);
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    options.flags = flags;
    options.tolerate = tolerate;
    int code = nw_open_memory(data, size, "input.safetensors", &options, &ckpt, &err);
    require(code == err.code);
    if (code != NW_OK) {
        require(ckpt == NULL && err.message[0] != '\0' && err.file[0] != '\0');
        return code;
    }
    check_checkpoint(ckpt);
    int refused = nwi_checkpoint_refuse(ckpt, NULL);
    if (refused == NW_OK && tolerate == 0)
        check_tiling(ckpt);
    nw_checkpoint_free(ckpt);
    return refused;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t all = NW_TOLERATE_TRAILING | NW_TOLERATE_METADATA |
                                NW_TOLERATE_DTYPE | NW_TOLERATE_INDEX;
    int strict = open_as(data, size, 0, 0);
    int listed = open_as(data, size, NW_OPEN_REPORT, 0);
    int tolerant = open_as(data, size, 0, all);
    require(strict == listed);
    require(strict != NW_OK || tolerant == NW_OK);
    (void)open_as(data, size, NW_OPEN_REPORT, all);
    return 0;
}
