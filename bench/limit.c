/* SPDX-License-Identifier: Apache-2.0
 * What this machine can do at best: N threads sum the mapped source, and touch a result
 * of the size a cast would have. Prints the seconds as JSON.
 *
 *     limit FILE RESULT_BYTES N_THREADS [WARM_BYTES] */
#define _GNU_SOURCE

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "warm.h"

#define HUGE_PAGE ((size_t)2 << 20)

struct share {
    const uint64_t *source; /* [n_words] */
    size_t n_words;
    uint8_t *result; /* [result_bytes] */
    size_t result_bytes;
    uint64_t sum;
    pthread_t thread;
};

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Eight sums, so that the loop is bound by memory alone; the result follows the source.
 */
static void *move(void *arg)
{
    struct share *share = arg;
    uint64_t sums[8] = {0};
    const size_t block = 65536; /* words */
    size_t touched = 0;
    for (size_t at = 0; at < share->n_words; at += block) {
        size_t end = at + block < share->n_words ? at + block : share->n_words;
        for (size_t i = at; i + 8 <= end; i += 8) {
            for (size_t k = 0; k < 8; k++)
                sums[k] += share->source[i + k];
        }
        size_t to = (size_t)((double)share->result_bytes * (double)end /
                             (double)share->n_words);
        memset(share->result + touched, (int)(sums[0] & 1), to - touched);
        touched = to;
    }
    for (size_t k = 0; k < 8; k++)
        share->sum += sums[k];
    return NULL;
}

static uint8_t *make_result(size_t size)
{
    uint8_t *ptr = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ptr == MAP_FAILED)
        return NULL;
    ptr += (HUGE_PAGE - (uintptr_t)ptr % HUGE_PAGE) % HUGE_PAGE;
    (void)madvise(ptr, size, MADV_HUGEPAGE);
    return ptr;
}

static int run(const uint8_t *source, size_t size, size_t result_bytes,
               size_t n_threads)
{
    struct share shares[64] = {0};
    uint64_t sum = 0;
    double begin = now();
    uint8_t *result = make_result(result_bytes);
    if (!result)
        return 1;
    for (size_t i = 0; i < n_threads; i++) {
        size_t from = size / 8 * i / n_threads;
        size_t to = size / 8 * (i + 1) / n_threads;
        shares[i].source = (const uint64_t *)(const void *)source + from;
        shares[i].n_words = to - from;
        shares[i].result = result + result_bytes * i / n_threads;
        shares[i].result_bytes =
            result_bytes * (i + 1) / n_threads - result_bytes * i / n_threads;
        if (pthread_create(&shares[i].thread, NULL, move, &shares[i]) != 0)
            return 1;
    }
    for (size_t i = 0; i < n_threads; i++) {
        (void)pthread_join(shares[i].thread, NULL);
        sum += shares[i].sum;
    }
    printf("{\"run_seconds\":%.9f,\"sum\":%llu}\n", now() - begin,
           (unsigned long long)sum);
    return 0;
}

int main(int argc, char **argv)
{
    struct stat st;
    if (argc < 4)
        return 2;
    int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return 1;
    size_t size = (size_t)st.st_size;
    size_t n_threads = strtoul(argv[3], NULL, 10);
    if (n_threads < 1 || n_threads > 64)
        return 2;
    if (argc > 4)
        warm_memory(strtoull(argv[4], NULL, 10));
    uint8_t *source = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (source == MAP_FAILED)
        return 1;
    return run(source, size, strtoull(argv[2], NULL, 10), n_threads);
}
