/* SPDX-License-Identifier: Apache-2.0
 * Which family fits the names of a region best: every row whose facts all hold counts as
 * many points as it has facts, and the most points win. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "layout/detect.h"

#define PROBE_BYTES 65536u /* read at a time */
#define NEAR_MOST   3u     /* candidates that are named */

struct scoring {
    const struct nw_checkpoint *ckpt; /* NULL: no values can be looked at */
    const struct nwi_header *header;
    const struct nwi_hints *hints;
    struct nw_error *err;
    int code;
    const char *probed;
    bool hasty; /* what fails one fact is of no interest */
};

/* ---- the one fact about values ---- */

static bool any_bit(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i])
            return true;
    }
    return false;
}

/* True if the tensor is there and holds a byte that is not zero. */
static bool holds_values(struct scoring *s, const char *name)
{
    const struct nwi_header_row *row = nwi_header_find(s->header, name);
    if (!row || !s->ckpt || row->source == NW_NONE)
        return false;
    const struct nwi_stored *stored = &s->ckpt->tensors[row->source];
    const struct nwi_file *file = s->ckpt->files[stored->file].file;
    uint8_t *buffer = nwi_alloc(s->ckpt->memory, PROBE_BYTES);
    bool found = false;
    if (!buffer || !file) {
        s->code = buffer ? s->code : nwi_fail_nomem(s->err, PROBE_BYTES);
        nwi_free(s->ckpt->memory, buffer, PROBE_BYTES);
        return false;
    }
    s->probed = stored->name;
    for (uint64_t at = 0; s->code == NW_OK && !found && at < stored->nbytes;) {
        uint64_t left = stored->nbytes - at;
        size_t now = left < PROBE_BYTES ? (size_t)left : PROBE_BYTES;
        s->code = nwi_file_read(file, stored->offset + at, buffer, now, s->err);
        found = s->code == NW_OK && any_bit(buffer, now);
        at += now;
    }
    nwi_free(s->ckpt->memory, buffer, PROBE_BYTES);
    return found;
}

static bool holds(struct scoring *s, const char *fact)
{
    if (fact[0] == '~')
        return holds_values(s, fact + 1);
    if (fact[0] == '!' && fact[1] == '~')
        return !holds_values(s, fact + 2);
    return nwi_predicate_holds(fact, s->header, s->hints);
}

/* How many facts hold, and how many there are. Facts about values are asked only where all
 * others hold. */
struct tally {
    unsigned held;
    unsigned total;
    unsigned asks; /* those that ask for something to be there */
    unsigned near; /* held, of these */
};

static struct tally count(struct scoring *s, const struct nwi_signature *signature)
{
    struct tally tally = {0};
    const char *const *facts = signature->facts;
    for (size_t i = 0; facts[i]; i++, tally.total++) {
        bool of_values = strchr(facts[i], '~') != NULL;
        bool held = !of_values && holds(s, facts[i]);
        if (s->hasty && !held && !of_values)
            return (struct tally){.total = 1};
        tally.held += held;
        tally.asks += facts[i][0] != '!';
        tally.near += held && facts[i][0] != '!';
    }
    for (size_t i = 0; facts[i]; i++) {
        if (strchr(facts[i], '~') && tally.held + 1 >= tally.total)
            tally.held += holds(s, facts[i]);
    }
    return tally;
}

/* ---- families ---- */

struct candidate {
    const struct nwi_family *family;
    const struct nwi_signature *signature;
    struct tally tally;
    uint8_t layout;
};

struct ranking {
    struct candidate best;
    bool tied;
    struct candidate near[NEAR_MOST]; /* of those that do not fit, the nearest first */
    size_t n_near;
};

/* The larger share of what must be there is nearer, then of all facts. */
static bool is_nearer(const struct tally *a, const struct tally *b)
{
    if (a->near * b->asks != b->near * a->asks)
        return a->near * b->asks > b->near * a->asks;
    return a->held * b->total > b->held * a->total;
}

/* Where the family stands among the nearest already, n_near if it does not. */
static size_t find_near(const struct ranking *ranking,
                        const struct candidate *candidate)
{
    size_t i = 0;
    while (i < ranking->n_near && (ranking->near[i].family != candidate->family ||
                                   ranking->near[i].layout != candidate->layout))
        i++;
    return i;
}

/* Once a family and layout, however many signatures it has. */
static void note_near(struct ranking *ranking, const struct candidate *candidate)
{
    size_t last = find_near(ranking, candidate);
    size_t at = last;
    if (candidate->tally.near == 0)
        return;
    if (last == NEAR_MOST)
        at = --last; /* no room: the farthest goes, if this is nearer */
    if (last < ranking->n_near &&
        !is_nearer(&candidate->tally, &ranking->near[last].tally))
        return;
    while (at > 0 && is_nearer(&candidate->tally, &ranking->near[at - 1].tally))
        at--;
    for (size_t i = last; i > at; i--)
        ranking->near[i] = ranking->near[i - 1];
    ranking->near[at] = *candidate;
    if (last == ranking->n_near)
        ranking->n_near++;
}

static void consider(struct scoring *s, struct ranking *ranking,
                     const struct nwi_family *family,
                     const struct nwi_signature *signatures, uint8_t layout)
{
    for (; signatures && signatures->facts; signatures++) {
        struct candidate candidate = {family, signatures, count(s, signatures), layout};
        const struct candidate *best = &ranking->best;
        if (candidate.tally.held < candidate.tally.total) {
            note_near(ranking, &candidate);
        } else if (candidate.tally.total > best->tally.total) {
            ranking->best = candidate;
            ranking->tied = false;
        } else if (candidate.tally.total == best->tally.total &&
                   (best->family != family || best->layout != layout)) {
            ranking->tied = true;
            note_near(ranking, &candidate);
        }
    }
}

static const char *layout_word(uint8_t layout)
{
    return layout == NWI_LAYOUT_ORIGINAL ? "original" : "diffusers";
}

/* ", flux/transformer in original names (5 of 6 facts; lacks img_in.weight)" */
static int describe(struct scoring *s, const struct candidate *near, char *out,
                    size_t size)
{
    const char *lacking = NULL;
    for (size_t i = 0; !lacking && near->signature->facts[i]; i++) {
        if (!holds(s, near->signature->facts[i]))
            lacking = near->signature->facts[i];
    }
    int n = snprintf(out, size, "%s %s in %s names (%u of %u facts%s%s)",
                     near->family->name, near->family->component,
                     layout_word(near->layout), near->tally.held, near->tally.total,
                     lacking ? "; not: " : "", lacking ? lacking : "");
    return n < 0 || (size_t)n >= size ? 0 : n;
}

static const char *explain(struct scoring *s, const struct ranking *ranking,
                           struct nwi_arena *arena)
{
    char text[360];
    size_t at = 0;
    if (ranking->tied && ranking->best.family)
        at += (size_t)snprintf(text, sizeof text, "%s %s and others fit equally well; ",
                               ranking->best.family->name,
                               ranking->best.family->component);
    if (ranking->n_near == 0)
        return at ? nwi_arena_copy(arena, text, at - 2) : "nothing is near";
    at += (size_t)snprintf(text + at, sizeof text - at, "nearest: ");
    for (size_t i = 0; i < ranking->n_near; i++) {
        const char *comma = i ? ", " : "";
        char one[200];
        int n = describe(s, &ranking->near[i], one, sizeof one);
        if (n == 0 || (size_t)n + 3 > sizeof text - at)
            break;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", comma, one);
    }
    return nwi_arena_copy(arena, text, at);
}

/* ---- variants ---- */

static const struct nwi_variant *best_variant(struct scoring *s,
                                              const struct candidate *best)
{
    const struct nwi_variant *found = NULL;
    unsigned points = 0;
    bool tied = false;
    for (const struct nwi_variant *v = best->family->variants; v && v->name; v++) {
        const struct nwi_signature *signature =
            best->layout == NWI_LAYOUT_ORIGINAL ? &v->original : &v->diffusers;
        if (!signature->facts)
            continue;
        struct tally tally = count(s, signature);
        if (tally.held < tally.total || tally.total < points)
            continue;
        tied = found && tally.total == points;
        found = v;
        points = tally.total;
    }
    return tied ? NULL : found;
}

static void rank(struct scoring *s, struct ranking *ranking)
{
    *ranking = (struct ranking){0};
    for (size_t i = 0; nwi_families[i]; i++) {
        const struct nwi_family *family = nwi_families[i];
        consider(s, ranking, family, family->original, NWI_LAYOUT_ORIGINAL);
        consider(s, ranking, family, family->diffusers, NWI_LAYOUT_DIFFUSERS);
    }
}

int nwi_detect_region(const struct nw_checkpoint *ckpt, const struct nwi_header *header,
                      const struct nwi_hints *hints, struct nwi_arena *arena,
                      struct nwi_recognition *out, struct nw_error *err)
{
    struct scoring s = {
        .ckpt = ckpt, .header = header, .hints = hints, .err = err, .hasty = true};
    struct ranking ranking;
    *out = (struct nwi_recognition){0};
    rank(&s, &ranking);
    s.hasty = false;
    if (s.code == NW_OK && (!ranking.best.family || ranking.tied))
        rank(&s, &ranking); /* again, for what is near */
    if (s.code != NW_OK)
        return s.code;
    if (!ranking.best.family || ranking.tied) {
        out->why_not = explain(&s, &ranking, arena);
        return out->why_not ? s.code : nwi_fail_nomem(err, 400);
    }
    out->family = ranking.best.family;
    out->layout = ranking.best.layout;
    out->variant = best_variant(&s, &ranking.best);
    out->probed = s.probed;
    return s.code;
}
