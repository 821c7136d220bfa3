/* SPDX-License-Identifier: Apache-2.0
 * The one way to cmocka: its header needs these four before it, in this order. */
#ifndef NWT_TEST_H
#define NWT_TEST_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

/* The call succeeds; else the message of `err` is printed. */
#define assert_ok(call, err)                                                           \
    do {                                                                               \
        int assert_ok_code = (call);                                                   \
        if (assert_ok_code != NW_OK)                                                   \
            fail_msg("%s: %s (%s)", #call, (err)->message,                             \
                     nw_code_name(assert_ok_code));                                    \
    } while (0)

/* The call fails with that code, and err says the same. */
#define assert_code(call, expected, err)                                               \
    do {                                                                               \
        int assert_code_got = (call);                                                  \
        if (assert_code_got != (expected))                                             \
            fail_msg("%s: got %s, expected %s (%s)", #call,                            \
                     nw_code_name(assert_code_got), nw_code_name(expected),            \
                     (err)->message);                                                  \
        assert_int_equal((err)->code, (expected));                                     \
    } while (0)

#endif
