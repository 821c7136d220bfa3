/* SPDX-License-Identifier: Apache-2.0
 * embed FILE
 *
 * What an engine does that brings its own memory and its own files. It writes a
 * checkpoint of three tensors to FILE, opens it in four ways, lists it, reads one
 * tensor and a slice, and has everything delivered as F16: once straight into its
 * memory, once piece by piece through a staging buffer, as if to a device. Every value
 * is checked. */
#include <netweight.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the checkpoint: a table in memory, also written to a file ---- */

static const char header[] =
    "{\"weight\":{\"dtype\":\"F32\",\"shape\":[4,3],\"data_offsets\":[0,48]},"
    "\"bias\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[48,64]},"
    "\"steps\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[64,80]}}     ";

static const float weight[12] = {0.0f,  0.5f,  1.0f,   -1.5f,  2.0f,    -2.5f,
                                 65504, -0.0f, 0.125f, 1024.0, 0.0625f, 3.0f};
static const float bias[4] = {1.0f, -1.0f, 0.25f, 8.0f};
static const int64_t steps[2] = {1, 1000};

/* The same numbers as F16 bits. */
static const uint16_t weight_f16[12] = {0x0000, 0x3800, 0x3c00, 0xbe00, 0x4000, 0xc100,
                                        0x7bff, 0x8000, 0x3000, 0x6400, 0x2c00, 0x4200};
static const uint16_t bias_f16[4] = {0x3c00, 0xbc00, 0x3400, 0x4800};

static uint8_t image[1024]; /* the file's bytes */
static size_t image_size;

static void append(const void *data, size_t size)
{
    memcpy(image + image_size, data, size);
    image_size += size;
}

static int write_checkpoint(const char *path)
{
    uint64_t size = sizeof header - 1;
    append(&size, sizeof size);
    append(header, sizeof header - 1);
    append(weight, sizeof weight);
    append(bias, sizeof bias);
    append(steps, sizeof steps);

    FILE *file = fopen(path, "wb");
    if (!file)
        return -1;
    size_t written = fwrite(image, 1, image_size, file);
    return fclose(file) || written != image_size ? -1 : 0;
}

/* ---- checks ---- */

static int n_passed;
static int n_failed;

static int check(int ok, const char *what, const struct nw_error *err)
{
    if (ok)
        n_passed++;
    else
        n_failed++;
    printf("%s - %s\n", ok ? "ok" : "not ok", what);
    if (!ok && err && err->code)
        printf("#   %s: %s\n", nw_code_name(err->code), err->message);
    return ok;
}

/* ---- opening: a path, a descriptor, memory, callbacks ---- */

static int read_at(void *ctx, uint64_t offset, void *dst, size_t size)
{
    memcpy(dst, (const uint8_t *)ctx + offset, size);
    return 0;
}

enum way { BY_PATH, BY_FD, BY_MEMORY, BY_CALLBACKS, WAY_COUNT };

static const char *const way_names[] = {"path", "descriptor", "memory", "callbacks"};

static int open_by(enum way way, const char *path, struct nw_checkpoint **out,
                   struct nw_error *err)
{
    struct nw_input input = {image_size, read_at, image};
    if (way == BY_PATH)
        return nw_open(path, NULL, out, err);
    if (way == BY_MEMORY)
        return nw_open_memory(image, image_size, "image", NULL, out, err);
    if (way == BY_CALLBACKS)
        return nw_open_input(&input, "callbacks", NULL, out, err);

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int code = nw_open_fd(fd, path, NULL, out, err);
    if (fd >= 0)
        close(fd); /* netweight keeps a duplicate */
    return code;
}

/* ---- lazy use: list, one tensor, a slice ---- */

static void check_reading(const struct nw_checkpoint *ckpt)
{
    struct nw_error err = {0};
    struct nw_stored_tensor tensor;
    float whole[12];
    float slice[6];
    size_t index;

    for (size_t i = 0; nw_checkpoint_tensor(ckpt, i, &tensor) == NW_OK; i++)
        printf("#   %s %s, %" PRIu64 " bytes at %" PRIu64 "\n", tensor.name,
               nw_dtype_name(tensor.dtype), tensor.nbytes, tensor.offset);
    check(nw_checkpoint_tensor_count(ckpt) == 3, "three tensors are listed", NULL);

    if (!check(nw_checkpoint_find(ckpt, NULL, "weight", &index, &err) == NW_OK,
               "a tensor is found by name", &err))
        return;
    check(nw_checkpoint_read(ckpt, index, 0, 4, whole, sizeof whole, &err) == NW_OK &&
              memcmp(whole, weight, sizeof whole) == 0,
          "one tensor is read", &err);
    check(nw_checkpoint_read(ckpt, index, 1, 2, slice, sizeof slice, &err) == NW_OK &&
              memcmp(slice, weight + 3, sizeof slice) == 0,
          "rows 1 and 2 of it are read", &err);
}

/* ---- delivery into the engine's own memory ---- */

struct engine {
    int staged;            /* take the bytes through write instead of place */
    uint8_t memory[3][64]; /* one slot a tensor */
    char names[3][16];
    size_t n_done; /* one thread delivers here: see threads below */
};

static int place(void *ctx, size_t i, const struct nw_target *target, void **dst)
{
    struct engine *engine = ctx;
    if (i >= 3 || target->nbytes > sizeof engine->memory[i])
        return -1;
    snprintf(engine->names[i], sizeof engine->names[i], "%s", target->name);
    *dst = engine->staged ? NULL : engine->memory[i];
    return 0;
}

static int write_range(void *ctx, size_t i, uint64_t offset, const void *data,
                       size_t nbytes)
{
    struct engine *engine = ctx;
    memcpy(engine->memory[i] + offset, data, nbytes); /* a device would queue a copy */
    return 0;
}

static int done(void *ctx, size_t i)
{
    (void)i;
    ((struct engine *)ctx)->n_done++;
    return 0;
}

/* The slot of a tensor holds exactly these bytes. */
static int holds(const struct engine *engine, const char *name, const void *data,
                 size_t nbytes)
{
    for (size_t i = 0; i < 3; i++)
        if (strcmp(engine->names[i], name) == 0)
            return memcmp(engine->memory[i], data, nbytes) == 0;
    return 0;
}

static void check_delivery(struct nw_checkpoint *ckpt, int staged)
{
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    struct engine engine = {.staged = staged};
    struct nw_sink sink = {place, write_range, done, &engine};
    struct nw_plan *plan = NULL;
    struct nw_error err = {0};

    options.dtype = NW_F16;
    options.flags = NW_LOAD_TO_SINK;
    options.threads = NW_THREADS_NONE; /* so that the engine needs no lock */
    int code = nw_plan_create(ckpt, &options, &plan, &err);
    if (code == NW_OK)
        code = nw_plans_deliver(&plan, 1, &sink, NULL, NULL, &err);
    check(code == NW_OK && engine.n_done == 3,
          staged ? "delivered by ranges" : "delivered", &err);
    check(holds(&engine, "weight", weight_f16, sizeof weight_f16) &&
              holds(&engine, "bias", bias_f16, sizeof bias_f16),
          "floats arrive as F16, bit by bit", NULL);
    check(holds(&engine, "steps", steps, sizeof steps), "integers keep their type",
          NULL);
    nw_plan_free(plan);
}

int main(int argc, char **argv)
{
    if (argc != 2 || write_checkpoint(argv[1])) {
        fputs("usage: embed FILE (is written)\n", stderr);
        return 2;
    }
    printf("# netweight %s\n", nw_version());
    for (int way = 0; way < WAY_COUNT; way++) {
        struct nw_checkpoint *ckpt = NULL;
        struct nw_error err = {0};
        printf("# by %s\n", way_names[way]);
        if (check(open_by((enum way)way, argv[1], &ckpt, &err) == NW_OK, "opened",
                  &err)) {
            check_reading(ckpt);
            check_delivery(ckpt, 0);
            check_delivery(ckpt, 1);
        }
        nw_checkpoint_free(ckpt);
    }
    remove(argv[1]);
    printf("# %d of %d checks hold\n", n_passed, n_passed + n_failed);
    return n_failed ? 1 : 0;
}
