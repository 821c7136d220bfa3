/* SPDX-License-Identifier: Apache-2.0
 * A trie over the literal beginnings of patterns. Each node holds the rows whose
 * beginnings end there or above, in order: the deepest node that a name reaches has all
 * the rows that can match it. */
#include <string.h>

#include "layout/ruleset.h"

#define DEPTH_MOST 64 /* bytes of a beginning that are looked at */

struct nwi_rule_node {
    struct nwi_rule_node *child;   /* the first */
    struct nwi_rule_node *sibling; /* the next child of the same parent */
    uint32_t *rows;                /* [n], rising */
    uint32_t n;
    uint32_t n_own; /* while it is built: of its own */
    uint8_t byte;
};

static struct nwi_rule_node *find_child(const struct nwi_rule_node *node, char byte)
{
    struct nwi_rule_node *child = node->child;
    while (child && child->byte != (uint8_t)byte)
        child = child->sibling;
    return child;
}

static struct nwi_rule_node *new_child(struct nwi_rule_node *parent, char byte,
                                       struct nwi_arena *arena)
{
    struct nwi_rule_node *node = nwi_arena_zalloc(arena, sizeof *node);
    if (!node)
        return NULL;
    node->byte = (uint8_t)byte;
    node->sibling = parent->child;
    parent->child = node;
    return node;
}

/* ---- beginnings ---- */

/* What a pattern begins with: `first`, then `second`; both may be empty. */
struct beginning {
    struct nwi_word first, second;
};

static char byte_of(const struct beginning *beginning, size_t i)
{
    const struct nwi_word *first = &beginning->first;
    return i < first->size ? first->text[i] : beginning->second.text[i - first->size];
}

static uint32_t count_beginnings(const struct nwi_pattern *pattern)
{
    const struct nwi_token *token = pattern->tokens;
    bool has_words = pattern->n_tokens > 0 && (token->kind == NWI_TOKEN_CHOICE ||
                                               token->kind == NWI_TOKEN_PARTS);
    return has_words ? token->n_words : 1;
}

static struct beginning beginning_of(const struct nwi_pattern *pattern, uint32_t k)
{
    struct beginning out = {{"", 0}, {"", 0}};
    const struct nwi_token *token = pattern->tokens;
    if (pattern->n_tokens == 0)
        return out;
    if (token->kind == NWI_TOKEN_TEXT)
        out.first = token->text;
    if (token->kind != NWI_TOKEN_CHOICE && token->kind != NWI_TOKEN_PARTS)
        return out;
    out.first = token->words[k];
    if (pattern->n_tokens > 1 && token[1].kind == NWI_TOKEN_TEXT)
        out.second = token[1].text;
    return out;
}

static const struct nwi_pattern *side_of(const struct nwi_ready_rule *rule,
                                         enum nwi_direction direction)
{
    return direction == NWI_TO_DIFFUSERS ? &rule->original : &rule->diffusers;
}

/* Rows that this direction does not match names with are not in the index. */
static bool is_wanted(const struct nwi_ready_rule *rule, enum nwi_direction direction)
{
    uint8_t op = rule->rule->op;
    return rule->is_active && (direction == NWI_TO_DIFFUSERS ? op != NWI_RULE_CONSTANT
                                                             : op != NWI_RULE_DROP);
}

/* ---- building ---- */

/* The node where a beginning ends; made if it is not there. */
static struct nwi_rule_node *reach(struct nwi_rule_node *node,
                                   const struct beginning *beginning,
                                   struct nwi_arena *arena)
{
    size_t size = beginning->first.size + beginning->second.size;
    size = size < DEPTH_MOST ? size : DEPTH_MOST;
    for (size_t i = 0; node && i < size; i++) {
        char byte = byte_of(beginning, i);
        struct nwi_rule_node *child = find_child(node, byte);
        node = child ? child : new_child(node, byte, arena);
    }
    return node;
}

/* First `count`s rows into n_own, then (rows are there) writes them. */
static int visit(struct nwi_rule_node *root, const struct nwi_ready_rule *rule,
                 uint32_t row, enum nwi_direction direction, struct nwi_arena *arena,
                 struct nw_error *err)
{
    const struct nwi_pattern *pattern = side_of(rule, direction);
    for (uint32_t k = 0; k < count_beginnings(pattern); k++) {
        struct beginning beginning = beginning_of(pattern, k);
        struct nwi_rule_node *node = reach(root, &beginning, arena);
        if (!node)
            return nwi_fail_nomem(err, sizeof *node);
        if (!node->rows)
            node->n_own++;
        else if (node->n == 0 || node->rows[node->n - 1] != row)
            node->rows[node->n++] = row; /* two beginnings may end in one place */
    }
    return NW_OK;
}

static int visit_all(struct nwi_rule_node *root, const struct nwi_ready_rule *rules,
                     size_t n, enum nwi_direction direction, struct nwi_arena *arena,
                     struct nw_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (is_wanted(&rules[i], direction))
            NWI_TRY(visit(root, &rules[i], (uint32_t)i, direction, arena, err));
    }
    return NW_OK;
}

static void merge(const struct nwi_rule_node *above, const struct nwi_rule_node *own,
                  struct nwi_rule_node *out)
{
    uint32_t a = 0;
    uint32_t b = 0;
    while (a < above->n || b < own->n) {
        bool take_own = a == above->n || (b < own->n && own->rows[b] <= above->rows[a]);
        uint32_t row = take_own ? own->rows[b] : above->rows[a];
        a += a < above->n && above->rows[a] == row;
        b += b < own->n && own->rows[b] == row;
        out->rows[out->n++] = row;
    }
}

/* The rows of the nodes above come before: a node without own ones shares its parent's.
 * Depth first by way of the sibling and child links, `stack` holding the parents. */
static int inherit(struct nwi_rule_node *root, struct nwi_arena *arena,
                   struct nw_error *err)
{
    struct nwi_rule_node *parents[DEPTH_MOST + 1];
    struct nwi_rule_node *node = root->child;
    size_t depth = 0;
    parents[0] = root;
    while (node) {
        const struct nwi_rule_node *above = parents[depth];
        if (node->n_own == 0) {
            node->rows = above->rows;
            node->n = above->n;
        } else if (above->n > 0) {
            struct nwi_rule_node all = {0};
            all.rows = nwi_arena_array(arena, above->n + node->n, sizeof *all.rows);
            if (!all.rows)
                return nwi_fail_nomem(err, (uint64_t)(above->n + node->n) * 4);
            merge(above, node, &all);
            node->rows = all.rows;
            node->n = all.n;
        }
        if (node->child) {
            parents[++depth] = node;
            node = node->child;
            continue;
        }
        while (node && !node->sibling)
            node = depth > 0 ? parents[depth--] : NULL;
        node = node ? node->sibling : NULL;
    }
    return NW_OK;
}

/* Room for each node's own rows. */
static int reserve(struct nwi_rule_node *root, struct nwi_arena *arena,
                   struct nw_error *err)
{
    struct nwi_rule_node *parents[DEPTH_MOST + 1];
    struct nwi_rule_node *node = root;
    size_t depth = 0;
    while (node) {
        if (node->n_own > 0) {
            node->rows = nwi_arena_array(arena, node->n_own, sizeof *node->rows);
            if (!node->rows)
                return nwi_fail_nomem(err, (uint64_t)node->n_own * 4);
        }
        if (node->child) {
            parents[depth++] = node;
            node = node->child;
            continue;
        }
        while (node && !node->sibling)
            node = depth > 0 ? parents[--depth] : NULL;
        node = node ? node->sibling : NULL;
    }
    return NW_OK;
}

int nwi_rule_index_init(struct nwi_rule_index *index,
                        const struct nwi_ready_rule *rules, size_t n,
                        enum nwi_direction direction, struct nwi_arena *arena,
                        struct nw_error *err)
{
    struct nwi_rule_node *root = nwi_arena_zalloc(arena, sizeof *root);
    *index = (struct nwi_rule_index){0};
    if (!root)
        return nwi_fail_nomem(err, sizeof *root);
    NWI_TRY(visit_all(root, rules, n, direction, arena, err)); /* counts */
    NWI_TRY(reserve(root, arena, err));
    NWI_TRY(visit_all(root, rules, n, direction, arena, err)); /* writes */
    NWI_TRY(inherit(root, arena, err));
    index->root = root;
    return NW_OK;
}

const uint32_t *nwi_rule_index_find(const struct nwi_rule_index *index,
                                    const char *name, size_t size, size_t *n)
{
    const struct nwi_rule_node *node = index->root;
    for (size_t i = 0; i < size; i++) {
        const struct nwi_rule_node *child = find_child(node, name[i]);
        if (!child)
            break;
        node = child;
    }
    *n = node->n;
    return node->rows;
}
