/* SPDX-License-Identifier: Apache-2.0
 * The little that is needed of threads: start, join, lock, wait with a limit. */
#ifndef NWI_THREAD_H
#define NWI_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* CPUs this process may run on, as limited by affinity and the cgroup's quota; at least 1. */
uint32_t nwi_cpu_count(void);

/* The same with `root` before /proc and /sys, so that a test can bring its own. */
uint32_t nwi_cpu_count_at(const char *root);

/* Seconds of the monotonic clock. */
double nwi_now(void);

/* A lock and a condition that can be waited for with a limit (monotonic clock). */
struct nwi_monitor {
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* 0 or an errno. */
int nwi_monitor_init(struct nwi_monitor *monitor);
void nwi_monitor_destroy(struct nwi_monitor *monitor);
void nwi_monitor_enter(struct nwi_monitor *monitor);
void nwi_monitor_leave(struct nwi_monitor *monitor);
/* Called inside. Returns false if `timeout_ms` passed first; may wake for no reason. */
bool nwi_monitor_wait(struct nwi_monitor *monitor, uint32_t timeout_ms);
void nwi_monitor_signal(struct nwi_monitor *monitor); /* wakes all */

#endif
