/* SPDX-License-Identifier: Apache-2.0
 * pthreads and the monotonic clock. */
#define _GNU_SOURCE

#include "base/thread.h"

#include <assert.h>
#include <time.h>

double nwi_now(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    int sys = pthread_condattr_init(&attributes);
    if (sys != 0)
        return sys;
    sys = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (sys == 0)
        sys = pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return sys;
}

int nwi_monitor_init(struct nwi_monitor *monitor)
{
    int sys = pthread_mutex_init(&monitor->lock, NULL);
    if (sys != 0)
        return sys;
    sys = init_condition(&monitor->changed);
    if (sys != 0)
        (void)pthread_mutex_destroy(&monitor->lock);
    return sys;
}

void nwi_monitor_destroy(struct nwi_monitor *monitor)
{
    (void)pthread_cond_destroy(&monitor->changed);
    (void)pthread_mutex_destroy(&monitor->lock);
}

void nwi_monitor_enter(struct nwi_monitor *monitor)
{
    int sys = pthread_mutex_lock(&monitor->lock);
    assert(sys == 0);
    (void)sys;
}

void nwi_monitor_leave(struct nwi_monitor *monitor)
{
    int sys = pthread_mutex_unlock(&monitor->lock);
    assert(sys == 0);
    (void)sys;
}

bool nwi_monitor_wait(struct nwi_monitor *monitor, uint32_t timeout_ms)
{
    struct timespec until = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return pthread_cond_timedwait(&monitor->changed, &monitor->lock, &until) == 0;
}

void nwi_monitor_signal(struct nwi_monitor *monitor)
{
    (void)pthread_cond_broadcast(&monitor->changed);
}
