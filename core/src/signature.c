#include "signature.h"

#ifdef ER_NO_SIGNATURES /* a page's library: 7 kB less to wait for, and nobody there who could give keys */

bool er_signed(er_arena *arena, const er_trusted *given, er_text content_hash, const char *shown)
{
    return er_refuse(arena->error, ER_BAD_INPUT, "%s: this library was built without signatures; build it without ER_NO_SIGNATURES", shown);
}

#else

#include "sha256.h"
#include "utf8.h"

#define HOW "see docs/howto/trust.md"

enum { MOST_TRUST = 1 << 20, MOST_KEYS = 256, KEY = 32, DER = 12, SKEW_S = 86400 };
static const int64_t NEVER = INT64_MAX;
/* What a SubjectPublicKeyInfo of Ed25519 begins with; the key's bytes are the rest. */
static const uint8_t PREFIX[DER] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

static bool begins(er_text text, const char *with) { return text.length >= strlen(with) && !memcmp(text.at, with, strlen(with)); }

static int digit_of(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bool is_hex(er_text text, size_t length)
{
    bool fine = text.length == length;
    for (size_t i = 0; i < length && fine; i++) fine = digit_of(text.at[i]) >= 0;
    return fine;
}

/* 2027-01-31T12:00:00Z */
static bool time_of(er_text text, int64_t *seconds)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    static const int ends[] = {4, 7, 10, 13, 16, 19}, days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int parts[6] = {0}, part = 0;
    if (text.length != sizeof form - 1) return false;
    for (int i = 0; i < (int)text.length; i++) {
        const char c = text.at[i];
        if (form[i] == '0' ? c < '0' || c > '9' : c != form[i]) return false;
        if (i == ends[part]) part++;
        else parts[part] = parts[part] * 10 + (c - '0');
    }
    const int year = parts[0], month = parts[1], day = parts[2];
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > days[month - 1] + (month == 2 && leap) || parts[3] > 23 || parts[4] > 59 ||
        parts[5] > 59)
        return false;
    const int before = year - 1;
    int64_t found = (int64_t)(year - 1970) * 365 + (before / 4 - before / 100 + before / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400) + day - 1;
    for (int i = 0; i < month - 1; i++) found += days[i] + (i == 1 && leap);
    *seconds = ((found * 24 + parts[3]) * 60 + parts[4]) * 60 + parts[5];
    return true;
}

/* ---- Whom to trust ---- */

typedef struct {
    uint8_t raw[KEY];
    er_hex id;
    int64_t not_after;
} key;

typedef struct {
    key *keys;
    uint32_t count, threshold;
} trusted;

/* The next line, without white space at its ends. */
static bool next_line(er_text *rest, er_text *line)
{
    if (!rest->length) return false;
    const char *end = memchr(rest->at, '\n', rest->length);
    const size_t length = end ? (size_t)(end - rest->at) : rest->length;
    *line = (er_text){rest->at, length};
    *rest = end ? er_cut(*rest, length + 1, rest->length) : (er_text){rest->at + length, 0};
    for (; line->length && (line->at[0] == ' ' || line->at[0] == '\t' || line->at[0] == '\r'); line->at++, line->length--) {}
    for (; line->length && (line->at[line->length - 1] == ' ' || line->at[line->length - 1] == '\t' || line->at[line->length - 1] == '\r');)
        line->length--;
    return true;
}

/* Whether a line says that this was revoked. */
static bool is_revoked(er_text trust, const char *word, er_text hex)
{
    er_text line;
    while (next_line(&trust, &line))
        if (begins(line, word) && er_same(er_cut(line, strlen(word), line.length), hex)) return true;
    return false;
}

/* The base64 of the only length that a key has. */
static bool key_of(const char *body, size_t length, key *found)
{
    uint8_t der[45];
    if (length != 60 || body[59] != '=') return false;
    for (size_t i = 0, at = 0; i < 60; i += 4) {
        uint32_t bits = 0;
        for (size_t k = i; k < i + 4; k++) {
            const char c = body[k];
            const int value = c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 :
                              c == '+' ? 62 : c == '/' ? 63 : k == 59 ? 0 : -1;
            if (value < 0) return false;
            bits = bits << 6 | (uint32_t)value;
        }
        for (int k = 2; k >= 0; k--) der[at++] = (uint8_t)(bits >> 8 * k);
    }
    if (memcmp(der, PREFIX, DER)) return false;
    memcpy(found->raw, der + DER, KEY);
    found->id = er_sha256_of(der, DER + KEY);
    return er_ed25519_is_key(found->raw);
}

static bool take_key(er_error *error, const char *body, size_t length, uint32_t number, key *made, trusted *t)
{
    if (!key_of(body, length, made))
        return er_refuse(error, ER_BAD_INPUT, "trust, line %u: not a public key of Ed25519; make one with: edgeret-export keygen -o KEY", number);
    for (uint32_t i = 0; i < t->count; i++)
        if (!memcmp(t->keys[i].raw, made->raw, KEY) || t->count == MOST_KEYS)
            return er_refuse(error, ER_BAD_INPUT, "trust, line %u: this key a second time, or more than %d; name each once", number, MOST_KEYS);
    t->keys[t->count++] = *made;
    return true;
}

/* Every line has to be understood: one that was to revoke something must not be passed over. */
static bool take_trust(er_arena *arena, er_text text, trusted *t)
{
    char body[64];
    size_t length = 0;
    bool inside = false;
    key made = {.not_after = NEVER};
    er_text rest = text, line;
    er_error *error = arena->error;
    if (text.length > MOST_TRUST || er_utf8_ends(text) != text.length)
        return er_refuse(error, ER_BAD_INPUT, "trust is no text, or longer than %d bytes; give what a file of public keys holds", MOST_TRUST);
    *t = (trusted){ER_TAKE(arena, key, MOST_KEYS), 0, 1};
    if (!t->keys) return false;
    for (uint32_t number = 1; next_line(&rest, &line); number++) {
        er_text value = line;
        for (; value.length && value.at[0] != ' '; value.at++, value.length--) {}
        if (value.length) value.at++, value.length--;
        if (inside && er_is(line, "-----END PUBLIC KEY-----")) {
            if (!take_key(error, body, length, number, &made, t)) return false;
            made.not_after = NEVER;
            inside = false;
        } else if (inside) {
            const size_t taken = line.length < sizeof body - length ? line.length : sizeof body - length;
            memcpy(body + length, line.at, taken);
            length += taken;
        } else if (er_is(line, "-----BEGIN PUBLIC KEY-----")) {
            inside = true;
            length = 0;
        } else if ((begins(line, "revoked-key ") || begins(line, "revoked-bundle ")) && is_hex(value, 64)) {
            continue;
        } else if (begins(line, "not-after ") && made.not_after == NEVER && time_of(value, &made.not_after)) {
            continue;
        } else if (begins(line, "threshold ") && value.length && value.length < 3 && value.at[0] >= '1' && value.at[0] <= '9' &&
                   (value.length == 1 || (value.at[1] >= '0' && value.at[1] <= '9'))) {
            const uint32_t told = (uint32_t)(value.length == 1 ? value.at[0] - '0' : (value.at[0] - '0') * 10 + value.at[1] - '0');
            if (told > t->threshold) t->threshold = told;
        } else if (line.length && line.at[0] != '#') {
            return er_refuse(error, ER_BAD_INPUT, "trust, line %u: not understood, \"%s\"; %s", number, er_show(line).at, HOW);
        }
    }
    if (inside || made.not_after != NEVER)
        return er_refuse(error, ER_BAD_INPUT, "trust ends within a key, or behind not-after without one; get the file again");
    if (!t->count) return er_refuse(error, ER_BAD_INPUT, "trust names no public key, so that no bundle could be loaded; %s", HOW);
    return t->threshold <= t->count || er_refuse(error, ER_BAD_INPUT, "trust asks for %u signatures and names %u keys; add keys, or lower threshold",
                                                 t->threshold, t->count);
}

/* ---- Signatures ---- */

typedef struct {
    er_text statement, bundle, key, value;
    int64_t signed_at, expires;
} signature;

/* The next block of six lines; the statement is five of them. */
static bool next_signature(er_text *rest, signature *found)
{
    static const struct {
        const char *before;
        size_t length;
    } parts[] = {{"edgeret-signature 1\nbundle ", 64}, {"\nkey ", 64}, {"\nsigned ", 20}, {"\nexpires ", 20}, {"\nsignature ", 128}};
    er_text fields[5], left = *rest;
    for (int i = 0; i < 5; i++) {
        if (!begins(left, parts[i].before)) return false;
        left = er_cut(left, strlen(parts[i].before), left.length);
        const size_t length = i == 3 && begins(left, "never\n") ? 5 : parts[i].length;
        if (i == 4) found->statement = (er_text){rest->at, (size_t)(left.at - rest->at) - strlen("signature ")};
        if (left.length < length) return false;
        fields[i] = er_cut(left, 0, length);
        left = er_cut(left, length, left.length);
    }
    found->bundle = fields[0];
    found->key = fields[1];
    found->value = fields[4];
    found->expires = NEVER;
    if (!begins(left, "\n") || !is_hex(fields[0], 64) || !is_hex(fields[1], 64) || !is_hex(fields[4], 128) ||
        !time_of(fields[2], &found->signed_at) || (!er_is(fields[3], "never") && !time_of(fields[3], &found->expires)))
        return false;
    *rest = er_cut(left, 1, left.length);
    return true;
}

/* Why a signature does not count; NULL where it does. */
static const char *judge(const signature *s, const er_trusted *given, const trusted *t)
{
    const key *by = NULL;
    uint8_t value[64];
    if (is_revoked(given->trust, "revoked-key ", s->key)) return "is revoked";
    for (uint32_t i = 0; i < t->count && !by; i++)
        if (er_same((er_text){t->keys[i].id.at, 64}, s->key)) by = &t->keys[i];
    if (!by) return "is not among the trusted ones";
    for (int i = 0; i < 64; i++) value[i] = (uint8_t)(digit_of(s->value.at[2 * i]) << 4 | digit_of(s->value.at[2 * i + 1]));
    if (!er_ed25519_verify(by->raw, s->statement, value)) return "did not sign this (damaged or forged)";
    /* Without an end the clock is not asked: devices begin in 1970. */
    if (s->expires == NEVER && by->not_after == NEVER) return NULL;
    if (given->now < s->signed_at - SKEW_S) return "signed at a time that is still to come by this clock, so that nobody can say whether it expired; set the clock";
    if (given->now > s->expires) return "signed this until a time that is over; get it signed anew";
    return given->now > by->not_after ? "counts until a time that is over; its maker has a newer key" : NULL;
}

bool er_signed(er_arena *arena, const er_trusted *given, er_text content_hash, const char *shown)
{
    er_error *error = arena->error;
    const er_place place = er_mark(arena);
    trusted t = {0};
    if (!take_trust(arena, given->trust, &t)) return false;
    if (is_revoked(given->trust, "revoked-bundle ", content_hash))
        return er_refuse(error, ER_BAD_BUNDLE, "%s: revoked (content hash %.64s) by those you trust; get a newer bundle from its maker", shown,
                         content_hash.at);
    const char *why = "all others are missing";
    er_text rest = given->signatures, who = {"", 0};
    uint32_t counted = 0, over = 0, all = 0;
    signature s;
    for (; rest.length; all++) {
        const er_text here = rest;
        if (!next_signature(&rest, &s))
            return er_refuse(error, ER_BAD_BUNDLE, "%s.sig: no file of signatures, damaged or of a newer edgeret (from byte %zu on); get it again from where the "
                             "bundle came from", shown, (size_t)(here.at - given->signatures.at));
        er_text before = {given->signatures.at, (size_t)(here.at - given->signatures.at)};
        for (signature other; before.length && next_signature(&before, &other);)
            if (er_same(other.bundle, s.bundle) && er_same(other.key, s.key))
                return er_refuse(error, ER_BAD_BUNDLE, "%s.sig: two signatures by key %.16s... over one bundle; keep one, or sign the bundle again", shown,
                                 s.key.at);
    }
    for (rest = given->signatures; rest.length && next_signature(&rest, &s);) {
        if (!er_same(s.bundle, content_hash)) continue;
        const char *not = judge(&s, given, &t);
        over++;
        counted += not == NULL;
        if (not && !who.length) why = not, who = s.key;
    }
    er_release(arena, place);
    if (!over)
        return er_refuse(error, ER_BAD_BUNDLE, "%s: not signed: its content hash is %.64s, and %s.sig %s; get both again from one place, or sign the "
                         "bundle: edgeret-export sign", shown, content_hash.at, shown, all ? "is over another bundle" : "is empty");
    return counted >= t.threshold ||
           er_refuse(error, ER_BAD_BUNDLE, "%s: needs %u signatures by keys that you trust, has %u: %s%.*s%s%s; %s", shown, t.threshold, counted,
                     who.length ? "key " : "", (int)(who.length / 4), who.at, who.length ? "... " : "", why, HOW);
}

#endif
