/* SPDX-License-Identifier: Apache-2.0
 * Bytes into many files from many threads, in any order; what is missing, and a disk
 * that is full. */
#include "run_output_scene.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#define N_TENSORS 60u
#define N_THREADS 4u
#define PIECE     1000u

struct job {
    struct scene *scene;
    struct nwi_output *output;
    unsigned first;
    int code;
    struct nw_error err;
};

/* Every N_THREADS-th piece of every tensor, the tensors from both ends. */
static void *write_pieces(void *ctx)
{
    struct job *job = ctx;
    const struct nw_plan *plan = job->scene->plans[0];
    struct nwi_sink sink = nwi_output_sink(job->output);
    uint8_t data[PIECE];
    for (size_t k = 0; k < plan->n_targets && job->code == NW_OK; k++) {
        size_t i = job->first % 2 ? k : plan->n_targets - 1 - k;
        uint64_t size = plan->targets[i].info.nbytes;
        memset(data, 100 + (int)i, sizeof data);
        for (uint64_t at = job->first * PIECE; at < size && job->code == NW_OK;
             at += N_THREADS * PIECE) {
            size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
            job->code = sink.write(sink.ctx, i, at, data, n, &job->err);
        }
    }
    return NULL;
}

static void check_threads(uint64_t max, size_t n_files)
{
    char *folder = nwt_folder();
    char *source = nwt_path(folder, "in.safetensors");
    char *target = nwt_path(folder, "out");
    struct scene scene;
    struct nw_write_options options = {.max_shard_bytes = max};
    struct nwi_output *output = NULL;
    struct job jobs[N_THREADS] = {0};
    pthread_t threads[N_THREADS];
    uint64_t sizes[N_TENSORS];
    for (size_t i = 0; i < N_TENSORS; i++)
        sizes[i] = 1 + i * 1777 % 40000;
    scene_source(source, sizes, N_TENSORS, 0);
    scene_open(&scene, source);
    assert_ok(scene_begin(&scene, target, &options, &output), &scene.err);
    assert_int_equal(output->n_files, n_files);
    for (unsigned t = 0; t < N_THREADS; t++) {
        jobs[t] = (struct job){.scene = &scene, .output = output, .first = t};
        assert_int_equal(pthread_create(&threads[t], NULL, write_pieces, &jobs[t]), 0);
    }
    for (unsigned t = 0; t < N_THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_ok(jobs[t].code, &jobs[t].err);
    }
    assert_ok(nwi_output_commit(output, &scene.err), &scene.err);
    nwi_output_free(output);
    assert_int_equal(scene_value(target), 100);
    scene_close(&scene);
    free(target);
    free(source);
    nwt_remove(folder);
}

/* Sixty files, more than are held open at a time. */
static void test_threads(void **state)
{
    (void)state;
    check_threads(0, 1);
    check_threads(1, N_TENSORS);
}

/* Enough for several windows of write-back. */
static void test_large(void **state)
{
    const uint64_t size = 90u << 20;
    char *folder = nwt_folder();
    char *source = nwt_path(folder, "in.safetensors");
    struct scene scene;
    struct nw_write_options options = {.flags = NW_WRITE_OVERWRITE};
    (void)state;
    scene_source(source, &size, 1, 0);
    scene_open(&scene, source);
    assert_ok(scene_save(&scene, source, &options, 3), &scene.err);
    assert_int_equal(scene_value(source), 3);
    scene_close(&scene);
    free(source);
    nwt_remove(folder);
}

static void test_incomplete(void **state)
{
    const uint64_t size = 16;
    char *folder = nwt_folder();
    char *source = nwt_path(folder, "in.safetensors");
    char *target = nwt_path(folder, "out.safetensors");
    struct scene scene;
    struct nw_write_options options = {.flags = NW_WRITE_OVERWRITE};
    struct nwi_output *output = NULL;
    (void)state;
    scene_source(source, &size, 1, 0);
    nwt_write(target, "old", 3);
    scene_open(&scene, source);
    assert_ok(scene_begin(&scene, target, &options, &output), &scene.err);
    struct nwi_sink sink = nwi_output_sink(output);
    assert_ok(sink.write(sink.ctx, 0, 0, "123456789012", 12, &scene.err), &scene.err);
    assert_code(nwi_output_commit(output, &scene.err), NW_E_TRUNCATED, &scene.err);
    nwi_output_free(output);
    scene_expect(folder, "out.safetensors", "old");
    assert_int_equal(scene_count(folder), 2);
    scene_close(&scene);
    free(target);
    free(source);
    nwt_remove(folder);
}

/* No file may be larger than 1 MB: known at the beginning, and nothing is left. */
static void test_no_space(void **state)
{
    const uint64_t sizes[] = {1000, 3u << 20};
    char *folder = nwt_folder();
    char *source = nwt_path(folder, "in.safetensors");
    char *target = nwt_path(folder, "out");
    struct scene scene;
    struct nw_write_options options = {.max_shard_bytes = 2000};
    struct nwi_output *output = NULL;
    struct rlimit limit;
    (void)state;
    scene_source(source, sizes, 2, 0);
    scene_open(&scene, source);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit small = {1u << 20, limit.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int code = scene_begin(&scene, target, &options, &output);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)signal(SIGXFSZ, before);
    assert_int_equal(code, NW_E_IO);
    assert_int_equal(scene.err.sys, EFBIG);
    assert_non_null(strstr(scene.err.file, "model-0000"));
    assert_int_equal(scene_count(folder), 1);
    scene_close(&scene);
    free(target);
    free(source);
    nwt_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_no_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
