/* SPDX-License-Identifier: Apache-2.0
 * Loads a checkpoint as fp8 and lists what came out. */
#include <netweight.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    struct nw_tensor tensor;
    struct nw_error err;

    options.dtype = NW_F8_E4M3;
    if (argc != 2 || nw_open(argv[1], NULL, &ckpt, &err) ||
        nw_plan_create(ckpt, &options, &plan, &err) ||
        nw_plan_run(plan, NULL, &weights, &err))
        fprintf(stderr, "%s\n", argc == 2 ? err.message : "usage: load FILE");
    for (size_t i = 0; weights && nw_weights_tensor(weights, i, &tensor) == NW_OK; i++)
        printf("%-50s %s at %p\n", tensor.name, nw_dtype_name(tensor.dtype),
               tensor.data);

    int status = weights ? 0 : 1;
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    return status;
}
