/* SPDX-License-Identifier: Apache-2.0
 * The pull reader. `at` stands before the next token's white space; the colon belongs
 * to its key. A bit of `stack` is left as it was when its level closes: bit 0 still
 * tells what the whole value was. */
#include "base/json.h"

#include <assert.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"

enum state {
    BEFORE_VALUE,
    BEFORE_FIRST_ELEMENT, /* a value or `]` */
    BEFORE_FIRST_KEY,     /* a key or `}` */
    AFTER_VALUE           /* a comma or the end of what encloses it */
};

void nwi_json_init(struct nwi_json *json, const char *data, size_t size, uint64_t base,
                   int code, struct nwi_arena *arena, struct nw_error *err)
{
    assert(code != NW_OK);
    *json = (struct nwi_json){.data = data,
                              .size = size,
                              .base = base,
                              .code = code,
                              .arena = arena,
                              .err = err,
                              .text = "",
                              .state = BEFORE_VALUE};
}

/* ---- failures ---- */

static int fail(struct nwi_json *json, size_t at, const char *what)
{
    json->failed =
        nwi_fail_at(json->err, json->code, json->base + at, "%s at byte %zu", what, at);
    return json->failed;
}

static int fail_expected(struct nwi_json *json, const char *expected)
{
    char found[32];
    size_t at = json->at;
    if (at >= json->size) {
        json->failed =
            nwi_fail_at(json->err, json->code, json->base + at,
                        "the JSON text ends at byte %zu, expected %s", at, expected);
        return json->failed;
    }
    size_t length = nwi_utf8_length(json->data + at, json->size - at);
    nwi_quote(found, sizeof found, json->data + at, length ? length : 1, 1);
    json->failed =
        nwi_fail_at(json->err, json->code, json->base + at,
                    "expected %s at byte %zu, found '%s'", expected, at, found);
    return json->failed;
}

static bool text_at(const struct nwi_json *json, size_t at, const char *text)
{
    size_t size = strlen(text);
    return json->size - at >= size && memcmp(json->data + at, text, size) == 0;
}

/* Some writer appended metadata to a finished header: worth saying, it is met in the
 * wild. */
static int fail_trailing(struct nwi_json *json)
{
    const char *kind = json->stack[0] & 1 ? "object" : "value";
    bool known = text_at(json, json->at, ",\"__metadata__\"");
    json->failed = nwi_fail_at(json->err, json->code, json->base + json->at,
                               "text after the JSON %s at byte %zu%s", kind, json->at,
                               known ? " (known fault of an old writer)" : "");
    return json->failed;
}

/* ---- levels ---- */

static bool in_object(const struct nwi_json *json)
{
    uint32_t level = json->depth - 1;
    return json->depth > 0 && (json->stack[level / 8] >> level % 8 & 1);
}

static int push(struct nwi_json *json, bool object)
{
    uint32_t level = json->depth;
    if (level == NWI_JSON_DEPTH)
        return fail(json, json->at, "nesting deeper than 128 levels");
    uint8_t bit = (uint8_t)(1u << level % 8);
    uint8_t *byte = &json->stack[level / 8];
    *byte = object ? (uint8_t)(*byte | bit) : (uint8_t)(*byte & ~bit);
    json->depth++;
    json->at++;
    json->state = object ? BEFORE_FIRST_KEY : BEFORE_FIRST_ELEMENT;
    return NW_OK;
}

static enum nwi_json_token pop(struct nwi_json *json)
{
    bool object = in_object(json);
    json->depth--;
    json->at++;
    json->state = AFTER_VALUE;
    return object ? NWI_JSON_OBJECT_END : NWI_JSON_ARRAY_END;
}

static void skip_space(struct nwi_json *json)
{
    while (json->at < json->size) {
        char c = json->data[json->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            return;
        json->at++;
    }
}

/* The next byte, or NUL at the end (where NUL is no token either). */
static char peek(const struct nwi_json *json)
{
    return json->at < json->size ? json->data[json->at] : '\0';
}

/* ---- strings ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* The four digits at `at`; -1 if they are not four. */
static int32_t hex4(const struct nwi_json *json, size_t at)
{
    int32_t value = 0;
    if (json->size - at < 4)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        int digit = hex_digit(json->data[at + i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

static bool is_high(int32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(int32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Checks the escape at json->at and passes it. */
static int scan_escape(struct nwi_json *json)
{
    size_t at = json->at;
    if (at + 1 >= json->size)
        return fail(json, json->token_at, "a string without an end");
    char kind = json->data[at + 1];
    json->at += 2;
    if (kind != 'u') {
        bool known = kind != '\0' && strchr("\"\\/bfnrt", kind);
        return known ? NW_OK : fail(json, at, "an unknown escape");
    }
    int32_t unit = hex4(json, at + 2);
    if (unit < 0)
        return fail(json, at, "an escape without four hexadecimal digits");
    json->at += 4;
    if (!is_high(unit))
        return is_low(unit) ? fail(json, at, "a lone surrogate") : NW_OK;
    if (!text_at(json, json->at, "\\u") || !is_low(hex4(json, json->at + 2)))
        return fail(json, at, "a lone surrogate");
    json->at += 6;
    return NW_OK;
}

/* Checks and passes what stands for one character of a string. */
static int scan_char(struct nwi_json *json, bool *escaped)
{
    unsigned char c = (unsigned char)json->data[json->at];
    if (c < 0x20)
        return fail(json, json->at, "a control character in a string");
    if (c == '\\') {
        *escaped = true;
        return scan_escape(json);
    }
    size_t length = nwi_utf8_length(json->data + json->at, json->size - json->at);
    if (length == 0)
        return fail(json, json->at, "broken UTF-8 in a string");
    json->at += length;
    return NW_OK;
}

/* Checks the string that begins at json->at and passes it; *escaped tells whether it
 * has to be decoded. */
static int scan_string(struct nwi_json *json, bool *escaped)
{
    *escaped = false;
    json->at++;
    while (json->at < json->size && json->data[json->at] != '"')
        NWI_TRY(scan_char(json, escaped));
    if (json->at == json->size)
        return fail(json, json->token_at, "a string without an end");
    json->at++;
    return NW_OK;
}

/* Writes one character, which needs at most the bytes of its escape. */
static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00u >> length & 0xF0) | c);
    return length;
}

static char simple_escape(char kind)
{
    static const char kinds[] = "bfnrt";
    static const char values[] = "\b\f\n\r\t";
    const char *found = strchr(kinds, kind);
    return found ? values[found - kinds] : kind;
}

/* The character of the checked escape at *at, which is passed. */
static uint32_t decode_unicode(const struct nwi_json *json, size_t *at)
{
    uint32_t c = (uint32_t)hex4(json, *at + 2);
    *at += 6;
    if (!is_high((int32_t)c))
        return c;
    uint32_t low = (uint32_t)hex4(json, *at + 2);
    *at += 6;
    return 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
}

/* Decodes the checked bytes [at, end) onto the arena. */
static int decode_string(struct nwi_json *json, size_t at, size_t end)
{
    assert(json->arena);
    char *out = nwi_arena_alloc(json->arena, end - at + 1);
    size_t used = 0;
    if (!out) {
        json->failed = nwi_fail_nomem(json->err, end - at + 1);
        return json->failed;
    }
    while (at < end) {
        if (json->data[at] != '\\') {
            out[used++] = json->data[at++];
        } else if (json->data[at + 1] == 'u') {
            used += put_utf8(out + used, decode_unicode(json, &at));
        } else {
            out[used++] = simple_escape(json->data[at + 1]);
            at += 2;
        }
    }
    out[used] = '\0';
    json->text = out;
    json->text_size = used;
    json->text_owned = true;
    return NW_OK;
}

static int read_string(struct nwi_json *json)
{
    bool escaped = false;
    size_t start = json->at + 1;
    NWI_TRY(scan_string(json, &escaped));
    size_t end = json->at - 1;
    json->text_owned = false;
    if (escaped && !json->skipping)
        return decode_string(json, start, end);
    json->text = json->data + start;
    json->text_size = end - start;
    return NW_OK;
}

/* ---- numbers and words ---- */

static size_t skip_digits(struct nwi_json *json)
{
    size_t start = json->at;
    while (peek(json) >= '0' && peek(json) <= '9')
        json->at++;
    return json->at - start;
}

static int read_number(struct nwi_json *json)
{
    size_t start = json->at;
    if (peek(json) == '-')
        json->at++;
    bool zero = peek(json) == '0';
    size_t n_digits = skip_digits(json);
    if (n_digits == 0)
        return fail_expected(json, "a digit");
    if (zero && n_digits > 1)
        return fail(json, start, "a number with a leading zero");
    if (peek(json) == '.') {
        json->at++;
        if (skip_digits(json) == 0)
            return fail_expected(json, "a digit");
    }
    if (peek(json) == 'e' || peek(json) == 'E') {
        json->at++;
        if (peek(json) == '+' || peek(json) == '-')
            json->at++;
        if (skip_digits(json) == 0)
            return fail_expected(json, "a digit");
    }
    json->text = json->data + start;
    json->text_size = json->at - start;
    json->text_owned = false;
    return NW_OK;
}

static int read_word(struct nwi_json *json, enum nwi_json_token *token)
{
    static const struct {
        const char *text;
        enum nwi_json_token token;
    } words[] = {
        {"true", NWI_JSON_TRUE}, {"false", NWI_JSON_FALSE}, {"null", NWI_JSON_NULL}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (text_at(json, json->at, words[i].text)) {
            json->at += strlen(words[i].text);
            *token = words[i].token;
            return NW_OK;
        }
    }
    if (json->at == 0 && text_at(json, 0, "\xEF\xBB\xBF"))
        return fail(json, 0, "a byte order mark");
    return fail_expected(json, "a value");
}

/* ---- tokens ---- */

static int read_value(struct nwi_json *json, enum nwi_json_token *token)
{
    char c = peek(json);
    if (c == '{' || c == '[') {
        *token = c == '{' ? NWI_JSON_OBJECT_BEGIN : NWI_JSON_ARRAY_BEGIN;
        return push(json, c == '{');
    }
    json->state = AFTER_VALUE;
    if (c == '"') {
        *token = NWI_JSON_STRING;
        return read_string(json);
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        *token = NWI_JSON_NUMBER;
        return read_number(json);
    }
    return read_word(json, token);
}

static int read_key(struct nwi_json *json, enum nwi_json_token *token)
{
    if (peek(json) != '"')
        return fail_expected(json, "a key");
    NWI_TRY(read_string(json));
    skip_space(json);
    if (peek(json) != ':')
        return fail_expected(json, "':'");
    json->at++;
    json->state = BEFORE_VALUE;
    *token = NWI_JSON_KEY;
    return NW_OK;
}

static int read_after_value(struct nwi_json *json, enum nwi_json_token *token)
{
    bool object = in_object(json);
    if (json->depth == 0) {
        *token = NWI_JSON_END;
        return json->at == json->size ? NW_OK : fail_trailing(json);
    }
    if (peek(json) == (object ? '}' : ']')) {
        *token = pop(json);
        return NW_OK;
    }
    if (peek(json) != ',')
        return fail_expected(json, object ? "',' or '}'" : "',' or ']'");
    json->at++;
    skip_space(json);
    json->token_at = json->at;
    return object ? read_key(json, token) : read_value(json, token);
}

int nwi_json_next(struct nwi_json *json, enum nwi_json_token *token)
{
    if (json->failed)
        return json->failed;
    skip_space(json);
    json->token_at = json->at;
    if (json->state == AFTER_VALUE)
        return read_after_value(json, token);
    if (json->state == BEFORE_VALUE)
        return read_value(json, token);
    if (peek(json) == (json->state == BEFORE_FIRST_KEY ? '}' : ']')) {
        *token = pop(json);
        return NW_OK;
    }
    return json->state == BEFORE_FIRST_KEY ? read_key(json, token)
                                           : read_value(json, token);
}

int nwi_json_skip(struct nwi_json *json, enum nwi_json_token token)
{
    if (json->failed)
        return json->failed;
    if (token != NWI_JSON_OBJECT_BEGIN && token != NWI_JSON_ARRAY_BEGIN)
        return NW_OK;
    uint32_t outside = json->depth - 1;
    json->skipping = true;
    while (json->depth > outside && nwi_json_next(json, &token) == NW_OK)
        continue;
    json->skipping = false;
    return json->failed;
}

int nwi_json_raw(struct nwi_json *json, enum nwi_json_token token, const char **text,
                 size_t *size)
{
    size_t start = json->token_at;
    NWI_TRY(nwi_json_skip(json, token));
    *text = json->data + start;
    *size = json->at - start;
    return NW_OK;
}

bool nwi_json_u64(const char *text, size_t size, uint64_t *out)
{
    uint64_t value = 0;
    if (size == 0)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || !nwi_mul(value, 10, &value) ||
            !nwi_add(value, (uint64_t)(text[i] - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}
