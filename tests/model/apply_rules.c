/* SPDX-License-Identifier: Apache-2.0
 * Applies a family's rules to names and shapes. Reads requests on standard input:
 *
 *     FAMILY/COMPONENT to-diffusers|to-original [KEY=VALUE ...]    or
 *     @RULES-FILE to-diffusers|to-original [KEY=VALUE ...]
 *     NAME DIM,DIM,...       ("-" for a scalar)
 *     ...
 *     .
 *
 * and answers each with one line an output, "NAME [SHAPE] PART ...", a PART being
 * "INPUT@START:[SHAPE]:[STRIDES]" in elements, or "fill=N" instead of parts; then "-NAME
 * REASON" for what was dropped, "?NAME" for what no rule knows, and "." or "!CODE message
 * (TENSOR)". FAMILY/COMPONENT/CLASS tells rows apart that share both. "?" instead of a
 * family asks which signatures hold: "FAMILY/COMPONENT/CLASS FACTS" for each. With "--list"
 * as argument the rows are printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout/family.h"
#include "layout/rules_text.h"
#include "source/header.h"

#define LINE_MOST  (1u << 18)
#define HINTS_MOST 64

static char line[LINE_MOST];

struct request {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nwi_header header;
    struct nwi_header_row *rows;
    size_t n, capacity;
    const struct nwi_rules *rules; /* NULL: same names */
    bool only_asks;                /* "?" */
    enum nwi_direction direction;
    const char *hints[HINTS_MOST];
    size_t n_hints;
};

static void die(const char *why, const char *what)
{
    (void)fprintf(stderr, "apply_rules: %s: %s\n", why, what);
    exit(2);
}

/* NAME/COMPONENT/CLASS/TITLE, without blanks: a family may have several rows of one class. */
static void family_id(const struct nwi_family *family, char *out, size_t size)
{
    (void)snprintf(out, size, "%s/%s/%s/%s", family->name, family->component,
                   family->klass ? family->klass : "", family->title);
    for (char *at = out; *at; at++) {
        if (*at == ' ')
            *at = '_';
    }
}

static const struct nwi_family *find_family(const char *id)
{
    char text[512];
    for (size_t i = 0; nwi_families[i]; i++) {
        const struct nwi_family *family = nwi_families[i];
        family_id(family, text, sizeof text);
        size_t size = strlen(id);
        if (strncmp(text, id, size) == 0 && (text[size] == '/' || text[size] == '\0'))
            return family;
    }
    die("no such family", id);
    return NULL;
}

static void read_rules(struct request *r, const char *path)
{
    struct nw_error err = {0};
    struct nwi_rules *rules = nwi_arena_zalloc(&r->arena, sizeof *rules);
    char *text = nwi_arena_zalloc(&r->arena, LINE_MOST);
    FILE *file = fopen(path, "r");
    if (!file || !text || !rules)
        die("cannot read", path);
    size_t size = fread(text, 1, LINE_MOST, file);
    (void)fclose(file);
    if (nwi_rules_text(text, size, &r->arena, rules, &err) != NW_OK)
        die(path, err.message);
    r->rules = rules;
}

static void read_head(struct request *r)
{
    char *word = strtok(line, " \n");
    char *direction = strtok(NULL, " \n");
    if (!word || !direction)
        die("not a request", line);
    r->direction =
        strcmp(direction, "to-original") == 0 ? NWI_TO_ORIGINAL : NWI_TO_DIFFUSERS;
    if (*word == '@')
        read_rules(r, word + 1);
    else if (*word == '?')
        r->only_asks = true;
    else
        r->rules = find_family(word)->rules;
    while ((word = strtok(NULL, " \n"))) {
        if (r->n_hints == HINTS_MOST)
            die("too many hints", word);
        r->hints[r->n_hints++] = nwi_arena_copy(&r->arena, word, strlen(word));
    }
}

static void read_row(struct request *r)
{
    char *shape = strrchr(line, ' ');
    void *items = r->rows;
    uint64_t dims[64];
    uint32_t rank = 0;
    if (!shape ||
        !nwi_arena_grow(&r->arena, &items, r->n, &r->capacity, sizeof *r->rows))
        die("not a tensor", line);
    r->rows = items;
    *shape++ = '\0';
    while (*shape >= '0' && *shape <= '9' && rank < 64) {
        dims[rank++] = strtoull(shape, &shape, 10);
        shape += *shape == ',';
    }
    uint64_t *copy = nwi_arena_array(&r->arena, rank, sizeof *copy);
    char *name = nwi_arena_copy(&r->arena, line, strlen(line));
    if (!copy || !name)
        die("no memory", line);
    memcpy(copy, dims, rank * sizeof *copy);
    r->rows[r->n] =
        (struct nwi_header_row){name, copy, strlen(name), rank, (uint32_t)r->n};
    r->n++;
}

static void print_list(const uint64_t *values, uint32_t n)
{
    (void)putchar('[');
    for (uint32_t i = 0; i < n; i++)
        (void)printf(i ? ",%llu" : "%llu", (unsigned long long)values[i]);
    (void)putchar(']');
}

static void print_output(const struct request *r, const struct nwi_mapped *output)
{
    (void)printf("%s ", output->name);
    print_list(output->shape, output->rank);
    for (uint32_t i = 0; i < output->n_parts; i++) {
        const struct nw_part *part = &output->parts[i];
        (void)printf(" %s@%llu:", r->rows[part->source].name,
                     (unsigned long long)part->start);
        print_list(part->shape, part->rank);
        (void)putchar(':');
        print_list(part->strides, part->rank);
    }
    if (output->n_parts == 0)
        (void)printf(" fill=%u", (unsigned)output->fill);
    (void)putchar('\n');
}

static void print_mapping(const struct request *r, const struct nwi_mapping_of *out)
{
    for (size_t i = 0; i < out->n_outputs; i++)
        print_output(r, &out->outputs[i]);
    for (size_t i = 0; i < r->n; i++) {
        if (out->fates[i] == NWI_DROPPED)
            (void)printf("-%s %s\n", r->rows[i].name,
                         out->reasons[i] ? out->reasons[i] : "");
        if (out->fates[i] == NWI_UNMATCHED)
            (void)printf("?%s\n", r->rows[i].name);
    }
    (void)printf(".\n");
}

/* Facts of the longest signature that holds, 0 if none does. */
static size_t facts(const struct request *r, const struct nwi_signature *signature,
                    const struct nwi_hints *hints)
{
    size_t most = 0;
    for (; signature && signature->facts; signature++) {
        size_t n = 0;
        while (signature->facts[n] &&
               nwi_predicate_holds(signature->facts[n], &r->header, hints))
            n++;
        if (!signature->facts[n] && n > most)
            most = n;
    }
    return most;
}

static void print_id(const struct nwi_family *family, size_t n_facts)
{
    char text[512];
    family_id(family, text, sizeof text);
    (void)printf("%s %zu\n", text, n_facts);
}

static void print_families(const struct request *r, const struct nwi_hints *hints)
{
    for (size_t i = 0; nwi_families[i]; i++) {
        const struct nwi_family *family = nwi_families[i];
        bool forward = r->direction == NWI_TO_DIFFUSERS && !family->same_names;
        size_t n = facts(r, forward ? family->original : family->diffusers, hints);
        if (n > 0)
            print_id(family, n);
    }
    (void)printf(".\n");
}

static void answer(struct request *r)
{
    struct nw_error err = {0};
    struct nwi_mapping_of out;
    struct nwi_hints hints = {r->hints, r->n_hints};
    int code = nwi_header_init(&r->header, r->rows, r->n, r->memory, &err);
    if (code == NW_OK && r->only_asks) {
        print_families(r, &hints);
        nwi_header_release(&r->header);
        (void)fflush(stdout);
        return;
    }
    if (code == NW_OK)
        code = nwi_rules_apply(r->rules, r->direction, &r->header, NULL, &hints,
                               &r->arena, &out, &err);
    if (code == NW_OK)
        print_mapping(r, &out);
    else
        (void)printf("!%s %s (%s)\n", nw_code_name(code), err.message, err.tensor);
    nwi_header_release(&r->header);
    (void)fflush(stdout);
}

static void list(void)
{
    for (size_t i = 0; nwi_families[i]; i++) {
        char text[512];
        family_id(nwi_families[i], text, sizeof text);
        (void)printf("%s\n", text);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        struct request r = {.memory = nwi_memory_new(NULL)};
        nwi_arena_init(&r.arena, r.memory);
        read_head(&r);
        while (fgets(line, sizeof line, stdin) && strcmp(line, ".\n") != 0)
            read_row(&r);
        answer(&r);
        nwi_arena_release(&r.arena);
        nwi_memory_release(r.memory);
    }
    return 0;
}
