/* SPDX-License-Identifier: Apache-2.0
 * Bottom-up merging: runs of 1, 2, 4 ... items, back and forth between the two arrays.
 */
#include "source/sort.h"

#include <stdbool.h>
#include <string.h>

static bool in_order(const char *items, size_t n, size_t size, nwi_compare_fn *compare)
{
    for (size_t i = 1; i < n; i++) {
        if (compare(items + (i - 1) * size, items + i * size) > 0)
            return false;
    }
    return true;
}

/* Joins the runs [left, middle) and [middle, right) of `from` in `to`. */
static void merge(const char *from, char *to, const size_t bounds[3], size_t size,
                  nwi_compare_fn *compare)
{
    size_t a = bounds[0];
    size_t b = bounds[1];
    for (size_t out = bounds[0]; out < bounds[2]; out++) {
        bool take_b = a == bounds[1];
        if (!take_b && b < bounds[2])
            take_b = compare(from + a * size, from + b * size) > 0;
        memcpy(to + out * size, from + (take_b ? b : a) * size, size);
        if (take_b)
            b++;
        else
            a++;
    }
}

void nwi_sort(void *items, void *spare, size_t n, size_t size, nwi_compare_fn *compare)
{
    char *from = items;
    char *to = spare;
    if (in_order(from, n, size, compare))
        return;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t left = 0; left < n; left += 2 * run) {
            size_t middle = n - left > run ? left + run : n;
            size_t right = n - middle > run ? middle + run : n;
            merge(from, to, (const size_t[3]){left, middle, right}, size, compare);
        }
        char *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, n * size);
}

int nwi_compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}
