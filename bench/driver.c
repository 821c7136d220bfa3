/* SPDX-License-Identifier: Apache-2.0
 * One load or conversion in a process of its own, with what it cost as one line of
 * JSON:
 *
 *     driver load|open|convert PATH [OUT] [KEY=VALUE...]
 *
 * Keys: dtype, backend (auto mmap pread direct uring), threads (none = the caller's
 * alone), copy (auto always never), class, component, layout (auto stored diffusers
 * original), scratch (bytes), sample (0: no peaks), warm (bytes of memory that are touched and
 * given back before).
 * Peaks are sampled from /proc/self/status every millisecond by a thread of its own. */
#define _GNU_SOURCE

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "netweight.h"
#include "warm.h"

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- what the kernel says of this process ---- */

/* Bytes of one line of /proc/self/status, such as "RssAnon:". */
static uint64_t status_bytes(const char *key)
{
    char line[256];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoull(line + strlen(key), NULL, 10);
    }
    (void)fclose(file);
    return kib << 10;
}

static void reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");
    if (!file)
        return;
    (void)fputs("5", file);
    (void)fclose(file);
}

struct sampler {
    pthread_t thread;
    atomic_bool stop;
    uint64_t anon_peak; /* bytes; read after the join */
    long samples;
};

static void *sample(void *arg)
{
    struct sampler *sampler = arg;
    const struct timespec nap = {.tv_nsec = 1000000};
    while (!atomic_load(&sampler->stop)) {
        uint64_t anon = status_bytes("RssAnon:");
        if (anon > sampler->anon_peak)
            sampler->anon_peak = anon;
        sampler->samples++;
        (void)nanosleep(&nap, NULL);
    }
    return NULL;
}

/* ---- options ---- */

struct request {
    const char *what;
    const char *path;
    const char *out;
    struct nw_load_options load;
    size_t warm; /* bytes */
    bool sample;
};

static uint32_t index_of(const char *value, const char *const *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(value, names[i]) == 0)
            return i;
    }
    (void)fprintf(stderr, "driver: unknown value %s\n", value);
    exit(2);
}

static void set_option(struct request *request, const char *key, const char *value)
{
    static const char *const backends[] = {"auto", "mmap", "pread", "direct", "uring"};
    static const char *const copies[] = {"auto", "always", "never"};
    static const char *const layouts[] = {"auto", "stored", "diffusers", "original"};
    if (strcmp(key, "dtype") == 0)
        request->load.dtype = nw_dtype_from_name(value, strlen(value));
    else if (strcmp(key, "backend") == 0)
        request->load.backend = index_of(value, backends, 5);
    else if (strcmp(key, "copy") == 0)
        request->load.copy = index_of(value, copies, 3);
    else if (strcmp(key, "threads") == 0)
        request->load.threads = strcmp(value, "none") == 0
                                    ? NW_THREADS_NONE
                                    : (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "class") == 0)
        request->load.klass = value;
    else if (strcmp(key, "component") == 0)
        request->load.component = value;
    else if (strcmp(key, "layout") == 0)
        request->load.layout = index_of(value, layouts, 4);
    else if (strcmp(key, "scratch") == 0)
        request->load.scratch_bytes = strtoull(value, NULL, 10);
    else if (strcmp(key, "warm") == 0)
        request->warm = strtoull(value, NULL, 10);
    else if (strcmp(key, "sample") == 0)
        request->sample = value[0] == '1';
    else
        (void)index_of(key, NULL, 0);
}

static void parse(int argc, char **argv, struct request *request)
{
    *request = (struct request){.sample = true};
    request->load.size = sizeof request->load;
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals) {
            *equals = '\0';
            set_option(request, argv[i], equals + 1);
        } else if (!request->what) {
            request->what = argv[i];
        } else if (!request->path) {
            request->path = argv[i];
        } else {
            request->out = argv[i];
        }
    }
    if (!request->path)
        (void)index_of("(no path)", NULL, 0);
}

/* ---- the work ---- */

struct outcome {
    double open_seconds;
    double plan_seconds;
    double run_seconds;
    struct nw_cost cost;
    struct nw_result_figures figures;
};

static void check(int code, const struct nw_error *err)
{
    if (code == NW_OK)
        return;
    (void)fprintf(stderr, "driver: %s: %s\n", nw_code_name(code), err->message);
    exit(1);
}

static void run(const struct request *request, struct nw_plan *plan,
                struct outcome *outcome)
{
    struct nw_error err;
    struct nw_weights *weights = NULL;
    struct nw_result *result = NULL;
    double begin = now();
    if (strcmp(request->what, "convert") == 0) {
        struct nw_write_options options = NW_OPTIONS_INIT(options);
        options.flags = NW_WRITE_OVERWRITE;
        check(nw_plan_write(plan, request->out, &options, NULL, &result, &err), &err);
    } else {
        check(nw_plan_run(plan, NULL, &weights, &err), &err);
    }
    outcome->run_seconds = now() - begin;
    if (weights)
        check(nw_weights_result(weights, &result, &err), &err);
    nw_result_figures(result, &outcome->figures);
    nw_result_free(result);
    nw_weights_free(weights);
}

static void work(struct request *request, struct outcome *outcome)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    if (request->out)
        request->load.flags = NW_LOAD_TO_FILE;
    double begin = now();
    check(nw_open(request->path, NULL, &ckpt, &err), &err);
    double opened = now();
    check(nw_plan_create(ckpt, &request->load, &plan, &err), &err);
    outcome->plan_seconds = now() - opened;
    outcome->open_seconds = opened - begin;
    nw_plan_cost(plan, &outcome->cost);
    if (strcmp(request->what, "open") != 0)
        run(request, plan, outcome);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
}

static void print(const struct outcome *outcome, uint64_t anon_base, uint64_t rss_base,
                  const struct sampler *sampler)
{
    uint64_t anon = sampler->anon_peak > anon_base ? sampler->anon_peak - anon_base : 0;
    uint64_t hwm = status_bytes("VmHWM:");
    printf("{\"open_seconds\":%.9f,\"plan_seconds\":%.9f,\"run_seconds\":%.9f,"
           "\"final_bytes\":%" PRIu64 ",\"read_bytes\":%" PRIu64
           ",\"predicted_peak_bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64
           ",\"rss_peak_bytes\":%" PRIu64 ",\"anon_peak_bytes\":%" PRIu64
           ",\"samples\":%ld,\"threads\":%u,\"backend\":\"%s\"}\n",
           outcome->open_seconds, outcome->plan_seconds, outcome->run_seconds,
           outcome->cost.final_bytes, outcome->cost.read_bytes,
           outcome->cost.peak_bytes, outcome->figures.peak_bytes,
           hwm > rss_base ? hwm - rss_base : 0, anon, sampler->samples,
           outcome->figures.threads,
           outcome->figures.backend ? outcome->figures.backend : "");
}

int main(int argc, char **argv)
{
    struct request request;
    struct outcome outcome = {0};
    struct sampler sampler = {0};
    parse(argc, argv, &request);
    warm_memory(request.warm);
    reset_peak();
    uint64_t anon_base = status_bytes("RssAnon:");
    uint64_t rss_base = status_bytes("VmRSS:");
    if (request.sample && pthread_create(&sampler.thread, NULL, sample, &sampler) != 0)
        return 2;
    work(&request, &outcome);
    atomic_store(&sampler.stop, true);
    if (request.sample)
        (void)pthread_join(sampler.thread, NULL);
    print(&outcome, anon_base, rss_base, &sampler);
    return 0;
}
