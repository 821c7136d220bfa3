/* SPDX-License-Identifier: Apache-2.0
 * write_checkpoint TABLE OUT.safetensors [SEED]
 *
 * Writes a checkpoint with the names, dtypes and shapes of a table, in the table's
 * order, and values that look like weights: seeded, so the same table gives the same
 * bytes. Streams; needs nothing but libc. A line of the table is "name dtype shape"
 * (sd15_vae.txt). */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TENSORS = 4096,
    MAX_RANK = 8,
    CHUNK_ELEMS = 1 << 16 /* values made and written at a time */
};

struct tensor {
    char name[192];
    char dtype[8];
    uint64_t shape[MAX_RANK]; /* elements, outermost first */
    uint32_t rank;
    uint64_t n_elems;
    uint64_t nbytes;
};

struct table {
    struct tensor rows[MAX_TENSORS];
    size_t n_rows;
};

/* One 64-bit draw (splitmix64). */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The sum of four uniform values is near enough to a bell: mean 0, deviation `scale`.
 */
static float draw_weight(uint64_t *state, float scale)
{
    uint64_t z = draw(state);
    int32_t sum = (int32_t)(z & 0xffff) + (int32_t)(z >> 16 & 0xffff) +
                  (int32_t)(z >> 32 & 0xffff) + (int32_t)(z >> 48) - 131070;
    return (float)sum * (scale / 37837.0f); /* 37837 = 65536 * sqrt(4 / 12) */
}

static uint64_t dtype_size(const char *dtype)
{
    static const struct {
        const char *name;
        uint64_t nbytes;
    } sizes[] = {{"F32", 4}, {"BF16", 2}, {"I64", 8}, {"U8", 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (strcmp(dtype, sizes[i].name) == 0)
            return sizes[i].nbytes;
    return 0;
}

/* Fills n elements of the dtype; returns the bytes made. */
static size_t fill(void *dst, const char *dtype, size_t n, float scale, uint64_t *state)
{
    float *f32 = dst;
    uint16_t *bf16 = dst;
    int64_t *i64 = dst;
    uint8_t *u8 = dst;
    for (size_t i = 0; i < n; i++) {
        float value;
        uint32_t bits;
        switch (dtype[0]) { /* the first letters differ */
        case 'F':
            f32[i] = draw_weight(state, scale);
            break;
        case 'B': /* the upper half of an F32 */
            value = draw_weight(state, scale);
            memcpy(&bits, &value, sizeof bits);
            bf16[i] = (uint16_t)(bits >> 16);
            break;
        case 'I':
            i64[i] = (int64_t)i;
            break;
        default:
            u8[i] = (uint8_t)draw(state);
        }
    }
    return n * (size_t)dtype_size(dtype);
}

/* "2,3,4" or "-" (a scalar). */
static int parse_shape(char *text, struct tensor *row)
{
    row->n_elems = 1;
    if (strcmp(text, "-") == 0)
        return 0;
    for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
        char *end;
        if (row->rank == MAX_RANK)
            return -1;
        row->shape[row->rank] = strtoull(part, &end, 10);
        if (end == part || *end)
            return -1;
        row->n_elems *= row->shape[row->rank++];
    }
    return 0;
}

static int read_table(const char *path, struct table *table)
{
    char line[512];
    char shape[128];
    size_t number = 0;
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    while (fgets(line, sizeof line, file)) {
        struct tensor *row = &table->rows[table->n_rows];
        number++;
        if (line[0] == '#' || line[0] == '\n')
            continue;
        memset(row, 0, sizeof *row);
        if (sscanf(line, "%191s %7s %127s", row->name, row->dtype, shape) != 3 ||
            strpbrk(row->name, "\"\\") || dtype_size(row->dtype) == 0 ||
            parse_shape(shape, row) || ++table->n_rows == MAX_TENSORS) {
            fprintf(stderr, "%s:%zu: not \"name dtype shape\"\n", path, number);
            fclose(file);
            return -1;
        }
        row->nbytes = row->n_elems * dtype_size(row->dtype);
    }
    fclose(file);
    return 0;
}

/* The JSON of the header into `out` (NULL: only its length is wanted). */
static size_t write_header(const struct table *table, FILE *out)
{
    uint64_t begin = 0;
    char text[512];
    size_t size = 0;
    const char *first = "{\"__metadata__\":{\"format\":\"pt\"}";
    size += strlen(first);
    if (out)
        fputs(first, out);
    for (size_t i = 0; i < table->n_rows; i++) {
        const struct tensor *row = &table->rows[i];
        int used = snprintf(text, sizeof text, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[",
                            row->name, row->dtype);
        for (uint32_t k = 0; k < row->rank; k++)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%" PRIu64,
                             k ? "," : "", row->shape[k]);
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin,
                         begin + row->nbytes);
        begin += row->nbytes;
        size += (size_t)used;
        if (out)
            fputs(text, out);
    }
    if (out)
        fputc('}', out);
    return size + 1;
}

static void write_tensor(const struct tensor *row, uint64_t *state, FILE *out)
{
    static uint64_t buffer[CHUNK_ELEMS]; /* of the widest element */
    float scale = row->rank > 1 ? 0.02f : 0.1f;
    uint64_t left = row->n_elems;
    while (left) {
        size_t n = left < CHUNK_ELEMS ? (size_t)left : CHUNK_ELEMS;
        size_t nbytes = fill(buffer, row->dtype, n, scale, state);
        if (fwrite(buffer, 1, nbytes, out) != nbytes)
            return; /* ferror tells the caller */
        left -= n;
    }
}

int main(int argc, char **argv)
{
    static struct table table;
    if (argc < 3 || argc > 4) {
        fputs("usage: write_checkpoint TABLE OUT.safetensors [SEED]\n", stderr);
        return 2;
    }
    uint64_t state = argc == 4 ? strtoull(argv[3], NULL, 10) : 1;
    if (read_table(argv[1], &table))
        return 1;
    FILE *out = fopen(argv[2], "wb");
    if (!out) {
        fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
        return 1;
    }

    uint64_t size = write_header(&table, NULL);
    uint64_t padded = (size + 7) / 8 * 8;
    fwrite(&padded, 1, sizeof padded,
           out); /* little-endian, as every machine supported */
    write_header(&table, out);
    for (uint64_t i = size; i < padded; i++)
        fputc(' ', out);

    uint64_t total = 0;
    for (size_t i = 0; i < table.n_rows && !ferror(out); i++) {
        write_tensor(&table.rows[i], &state, out);
        total += table.rows[i].nbytes;
    }
    int failed = ferror(out);
    if (fclose(out) || failed) {
        fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
        remove(argv[2]);
        return 1;
    }
    printf("%s: %zu tensors, %" PRIu64 " bytes\n", argv[2], table.n_rows,
           8 + padded + total);
    return 0;
}
