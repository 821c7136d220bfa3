/* SPDX-License-Identifier: Apache-2.0
 * The cast rows under cmocka; what is checked is in cast_check.h and cast_golden.h. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "test.h"

#include "base/system.h"
#include "cast_golden.h"

static void run_check(void **state)
{
    check_fn *const *run = *state;
    struct check check = {.cpu_mask = nwi_cpu_detect()};

    (*run)(&check);
    check_release(&check);
    if (check.n_failed != 0)
        fail_msg("%" PRIu64 " of %" PRIu64 " comparisons failed", check.n_failed,
                 check.n_failed + check.n_passed);
    assert_true(check.n_passed > 0);
}

int main(void)
{
    struct CMUnitTest tests[N_CAST_CHECKS];
    check_fn *runs[N_CAST_CHECKS];

    memset(tests, 0, sizeof(tests));
    for (int i = 0; i < N_CAST_CHECKS; i++) {
        runs[i] = cast_checks[i].run;
        tests[i].name = cast_checks[i].name;
        tests[i].test_func = run_check;
        tests[i].initial_state = &runs[i];
    }
    return cmocka_run_group_tests_name("cast", tests, NULL, NULL);
}
