/* SPDX-License-Identifier: Apache-2.0
 * load PATH: loads a checkpoint as fp8 and lists what came out. The README shows
 * list_as_fp8. */
#include <netweight.h>
#include <stdio.h>

static int list_as_fp8(const char *path)
{
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    struct nw_tensor tensor;
    struct nw_error err;

    options.dtype = NW_F8_E4M3;
    int code = nw_open(path, NULL, &ckpt, &err);
    if (code == NW_OK)
        code = nw_plan_create(ckpt, &options, &plan, &err);
    if (code == NW_OK)
        code = nw_plan_run(plan, NULL, &weights, &err);
    if (code != NW_OK)
        fprintf(stderr, "%s: %s\n", nw_code_name(code), err.message);
    for (size_t i = 0; weights && nw_weights_tensor(weights, i, &tensor) == NW_OK; i++)
        printf("%s %s\n", tensor.name, nw_dtype_name(tensor.dtype));
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    return code;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: load PATH\n", stderr);
        return 2;
    }
    return list_as_fp8(argv[1]) == NW_OK ? 0 : 1;
}
