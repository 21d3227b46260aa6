/* From a text to tokens (section 5): added tokens first, then normalisers, pre-tokenizers and the model, in this order. */

#include "tokenizer_parts.h"

#include <stdlib.h>

#define REMEDY "build the bundle with a BERT-like tokenizer (docs/FORMAT.md, section 5)"

/* ---- What is made ---- */

/* Whether RobertaProcessing takes a code point of a token for a space. */
static bool is_blank(uint32_t point) { return point == 0x120 || er_letter(point) & LETTER_SPACE; }

bool er_made_add(er_tokens_made *made, const er_tokenizer_parts *parts, const er_run *run, er_span piece, uint32_t id)
{
    er_span span = {run->at[piece.begin].begin, run->at[piece.end - 1].end};
    if (parts->trims) {
        uint32_t leading = 0, trailing = 0;
        while (leading < piece.end - piece.begin && is_blank(run->at[piece.begin + leading].point)) leading++;
        while (trailing < piece.end - piece.begin && is_blank(run->at[piece.end - 1 - trailing].point)) trailing++;
        if (leading && (!made->count || !span.begin) && parts->trims_first) leading--; /* the one that was added */
        span.begin = span.begin + leading < span.end ? span.begin + leading : span.end;
        if (span.end >= trailing) span.end = span.end - trailing > span.begin ? span.end - trailing : span.begin;
    }
    if (made->count == made->room) {
        const uint32_t room = made->room ? 2 * made->room : 64;
        uint32_t *ids = made->room < UINT32_MAX / 4 ? ER_TAKE(made->arena, uint32_t, room) : NULL;
        er_span *spans = ids ? ER_TAKE(made->arena, er_span, room) : NULL;
        if (!spans) return er_refuse(made->arena->error, ER_NO_MEMORY, "no memory for a text's tokens");
        if (made->count) {
            memcpy(ids, made->ids, made->count * sizeof *ids);
            memcpy(spans, made->spans, made->count * sizeof *spans);
        }
        made->ids = ids;
        made->spans = spans;
        made->room = room;
    }
    made->ids[made->count] = id;
    made->spans[made->count++] = span;
    return true;
}

/* ---- Added tokens ---- */

static int by_points(const void *a, const void *b)
{
    const er_added *left = a, *right = b;
    for (uint32_t i = 0; i < left->length && i < right->length; i++)
        if (left->points[i] != right->points[i]) return left->points[i] < right->points[i] ? -1 : 1;
    if (left->length != right->length) return left->length < right->length ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

static bool set_of(er_arena *arena, er_added *tokens, uint32_t count, er_added_set *set)
{
    uint32_t kept = 0;
    if (count) qsort(tokens, count, sizeof *tokens, by_points);
    for (uint32_t i = 0; i < count; i++) {
        if (!tokens[i].length) /* would be found between any two letters */
            return er_refuse(arena->error, ER_BAD_BUNDLE, "tokenizer: an added token that the normalizer empties; " REMEDY);
        set->firsts |= UINT64_C(1) << (tokens[i].points[0] & 63);
        const er_added *last = kept ? &tokens[kept - 1] : NULL; /* of those that are looked for alike, the first in order counts */
        if (last && last->length == tokens[i].length && !memcmp(last->points, tokens[i].points, last->length * sizeof(uint32_t))) continue;
        tokens[kept++] = tokens[i];
    }
    set->tokens = tokens;
    set->count = kept;
    return true;
}

/* The longest token that begins here, or NULL. */
static const er_added *longest_at(const er_added_set *set, const er_run *run, uint32_t at)
{
    uint32_t low = 0, high = set->count;
    const er_added *found = NULL;
    for (uint32_t depth = 0; low < high && at + depth < run->count; depth++) {
        const uint32_t point = run->at[at + depth].point;
        uint32_t begin = low, end = high;
        while (begin < end) { /* the first with this code point there or a later one; shorter ones are before */
            const uint32_t middle = (begin + end) / 2;
            const er_added *token = &set->tokens[middle];
            if (token->length <= depth || token->points[depth] < point) begin = middle + 1;
            else end = middle;
        }
        low = begin;
        end = high;
        while (begin < end) {
            const uint32_t middle = (begin + end) / 2;
            if (set->tokens[middle].points[depth] <= point) begin = middle + 1;
            else end = middle;
        }
        high = begin;
        if (low < high && set->tokens[low].length == depth + 1) found = &set->tokens[low];
    }
    return found;
}

typedef bool a_piece(void *of, const er_run *, er_span piece, const er_added *token);

static bool is_affix(const er_run *run, uint32_t i) { return er_letter(run->at[i].point) & LETTER_WORD; }
static bool is_space(const er_run *run, uint32_t i) { return er_letter(run->at[i].point) & LETTER_SPACE; }

/* Hands a run on in pieces: tokens of the set, and what is between them. */
static bool at_added(const er_added_set *set, const er_run *run, a_piece *take, void *of)
{
    uint32_t done = 0;
    for (uint32_t i = 0; set->count && i < run->count;) {
        const er_added *token = set->firsts >> (run->at[i].point & 63) & 1 ? longest_at(set, run, i) : NULL;
        if (!token) {
            i++;
            continue;
        }
        uint32_t begin = i, end = i + token->length;
        i = end;
        if (token->single_word && ((begin && is_affix(run, begin - 1)) || (end < run->count && is_affix(run, end)))) continue;
        while (token->left && begin > done && is_space(run, begin - 1)) begin--;
        while (token->right && end < run->count && is_space(run, end)) end++;
        if (begin > done && !take(of, run, (er_span){done, begin}, NULL)) return false;
        if (!take(of, run, (er_span){begin, end}, token)) return false;
        done = end;
    }
    return done == run->count || take(of, run, (er_span){done, run->count}, NULL);
}

/* ---- A text ---- */

typedef struct {
    er_arena *arena; /* for as long as the text is read */
    const er_tokenizer_parts *parts;
    er_tokens_made *made;
} job;

static er_run slice(const er_run *run, er_span piece)
{
    const uint32_t count = piece.end - piece.begin;
    return (er_run){run->at + piece.begin, count, count, run->at[piece.begin].begin};
}

static bool read_normalized(void *of, const er_run *run, er_span piece, const er_added *token)
{
    job *j = of;
    if (token) return er_made_add(j->made, j->parts, run, piece, token->id);
    er_run here = slice(run, piece);
    er_pieces pieces = {0};
    if (!er_pieces_add(j->arena, &pieces, (er_span){0, here.count})) return false;
    for (uint32_t i = 0; i < j->parts->splitter_count; i++)
        if (!er_split_run(j->arena, &j->parts->splitters[i], &here, &pieces)) return false;
    char *bytes = ER_TAKE(j->arena, char, (size_t)here.count * 4);
    uint32_t *starts = ER_TAKE(j->arena, uint32_t, (size_t)here.count + 1);
    if (!bytes || !starts) return false;
    for (uint32_t i = 0; i < here.count; i++) starts[i + 1] = starts[i] + (uint32_t)er_put_point(bytes + starts[i], here.at[i].point);
    for (uint32_t i = 0; i < pieces.count; i++)
        if (j->parts->kind == ER_UNIGRAM ? !er_unigram(j->arena, j->parts, &here, pieces.at[i], bytes, starts, j->made)
                                         : !er_word_piece(j->parts, &here, pieces.at[i], bytes, starts, j->made))
            return false;
    return true;
}

static bool read_plain(void *of, const er_run *run, er_span piece, const er_added *token)
{
    job *j = of;
    if (token) return er_made_add(j->made, j->parts, run, piece, token->id);
    er_run here = {.origin = run->at[piece.begin].begin};
    for (uint32_t i = piece.begin; i < piece.end; i++)
        if (!er_run_add(j->arena, &here, run->at[i])) return false;
    if (!er_normalize_run(j->arena, j->parts->normalizers, j->parts->normalizer_count, &here)) return false;
    return !here.count || at_added(&j->parts->normalized, &here, read_normalized, j);
}

static bool run_of(er_arena *arena, const uint32_t *points, uint32_t count, er_run *run)
{
    *run = (er_run){.at = ER_TAKE(arena, er_glyph, (size_t)count + 1), .count = count, .room = count};
    if (!run->at) return false;
    for (uint32_t i = 0; i < count; i++) run->at[i] = (er_glyph){points[i], i, i + 1};
    return true;
}

static bool read_all(er_arena *arena, const er_tokenizer_parts *parts, const er_points *text, er_tokens_made *made)
{
    er_run run;
    job j = {arena, parts, made};
    return run_of(arena, text->points, text->count, &run) && (!run.count || at_added(&parts->plain, &run, read_plain, &j));
}

/* A token begins behind the space that it stands for, too. */
static void without_spaces(const er_points *text, er_span *spans, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        spans[i].begin += spans[i].begin < spans[i].end && er_is_space(text->points[spans[i].begin]);
}

bool er_tokenize(er_arena *arena, const er_tokenizer *tokenizer, const er_points *text, er_tokens_found *found)
{
    const er_tokenizer_parts *parts = tokenizer->parts;
    *found = (er_tokens_found){NULL, NULL, 0};
    if (parts->quick && text->count == text->text.length) {
        uint32_t *ids = ER_TAKE(arena, uint32_t, (size_t)text->count + 1);
        er_span *spans = ids ? ER_TAKE(arena, er_span, (size_t)text->count + 1) : NULL;
        if (!spans) return false;
        const uint32_t count = er_quick_tokens(parts, text->text.at, text->count, ids, spans);
        *found = (er_tokens_found){ids, spans, count};
        if (count != ER_MISSING) return true;
    }
    er_arena scratch = {.error = arena->error};
    er_tokens_made made = {.arena = &scratch};
    bool fine = read_all(&scratch, parts, text, &made);
    if (fine) {
        uint32_t *ids = ER_TAKE(arena, uint32_t, (size_t)made.count + 1);
        er_span *spans = ids ? ER_TAKE(arena, er_span, (size_t)made.count + 1) : NULL;
        fine = spans != NULL;
        if (fine && made.count) {
            memcpy(ids, made.ids, made.count * sizeof *ids);
            memcpy(spans, made.spans, made.count * sizeof *spans);
            if (parts->takes_spaces) without_spaces(text, spans, made.count);
        }
        *found = (er_tokens_found){ids, spans, made.count};
    }
    er_give_back(&scratch);
    return fine;
}

void er_special(const er_tokenizer *tokenizer, const uint32_t **before, uint32_t *before_count, const uint32_t **behind, uint32_t *behind_count)
{
    *before = tokenizer->parts->before;
    *before_count = tokenizer->parts->before_count;
    *behind = tokenizer->parts->behind;
    *behind_count = tokenizer->parts->behind_count;
}

/* ---- Reading the file ---- */

/* Tokens that are looked for in the text as it is, and those in the normalised one, which are normalised, too. */
static bool keep_added(er_arena *arena, const er_added_told *told, uint32_t count, er_tokenizer_parts *parts)
{
    er_added *plain = ER_TAKE(arena, er_added, (size_t)count + 1), *normalized = ER_TAKE(arena, er_added, (size_t)count + 1);
    if (!plain || !normalized) return false;
    uint32_t counts[2] = {0, 0};
    for (uint32_t i = 0; i < count; i++) {
        er_points points;
        er_run run;
        if (!er_points_of(arena, told[i].content, &points) || !run_of(arena, points.points, points.count, &run)) return false;
        if (told[i].normalized && !er_normalize_run(arena, parts->normalizers, parts->normalizer_count, &run)) return false;
        uint32_t *kept = ER_TAKE(arena, uint32_t, (size_t)run.count + 1);
        if (!kept) return false;
        for (uint32_t k = 0; k < run.count; k++) kept[k] = run.at[k].point;
        /* Special ones are before all others. */
        (told[i].normalized ? normalized : plain)[counts[told[i].normalized]++] =
            (er_added){kept, run.count, told[i].id, told[i].special ? i : count + i, told[i].single_word, told[i].left, told[i].right};
    }
    return set_of(arena, plain, counts[0], &parts->plain) && set_of(arena, normalized, counts[1], &parts->normalized);
}

static bool alnum(uint32_t c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Of most texts no more than this is asked: printable ASCII, words of letters and signs, no added token. */
static void make_quick(const er_added_told *added, uint32_t count, er_tokenizer_parts *parts)
{
    if (parts->kind != ER_WORD_PIECE || parts->normalizer_count != 1 || parts->normalizers[0].kind != ER_BERT_NORMALIZER ||
        parts->splitter_count != 1 || parts->splitters[0].kind != ER_BERT_SPLIT)
        return;
    for (uint32_t c = 0; c < 128; c++) {
        parts->kinds[c] = c < 0x20 || c == 0x7f ? QUICK_OTHER : c == ' ' ? QUICK_SPACE : alnum(c) ? QUICK_LETTER : QUICK_MARK;
        parts->folded[c] = (char)(parts->normalizers[0].lowercase ? er_lower_of(c) : c);
    }
    for (uint32_t i = 0; i < count; i++) {
        bool found = false; /* whether it needs a sign, by which a text that may have it is known */
        for (size_t k = 0; k < added[i].content.length; k++) {
            const uint8_t c = (uint8_t)added[i].content.at[k];
            found |= c >= 128 || parts->kinds[c] != QUICK_LETTER;
            if (c < 128 && !alnum(c)) parts->kinds[c] = QUICK_OTHER;
        }
        if (!found) return;
    }
    parts->quick = true;
}

static bool takes_spaces(er_arena *arena, const er_tokenizer_parts *parts)
{
    static const uint32_t points[] = {'a', ' ', 'a'}, starts[] = {0, 1, 2, 3};
    const er_points text = {{"a a", 3}, points, starts, 3};
    er_tokens_made made = {.arena = arena};
    bool found = false;
    if (!read_all(arena, parts, &text, &made)) return false;
    for (uint32_t i = 1; i < made.count; i++) found |= made.spans[i].begin == 1;
    return found;
}

/* What the file says around its vocabulary, with an empty one in that place. */
static bool without(er_arena *arena, er_text json, er_text vocabulary, er_text *found)
{
    char *text = ER_TAKE(arena, char, json.length - vocabulary.length + 2);
    if (!text) return false;
    const size_t before = (size_t)(vocabulary.at - json.at), behind = json.length - before - vocabulary.length;
    memcpy(text, json.at, before);
    text[before] = vocabulary.at[0];
    text[before + 1] = vocabulary.at[0] == '{' ? '}' : ']';
    memcpy(text + before + 2, vocabulary.at + vocabulary.length, behind);
    *found = (er_text){text, before + 2 + behind};
    return true;
}

static bool holds(er_text text, const char *wanted)
{
    const size_t length = strlen(wanted);
    for (size_t i = 0; i + length <= text.length; i++) {
        const char *found = memchr(text.at + i, wanted[0], text.length - i - length + 1);
        if (!found) return false;
        if (!memcmp(found, wanted, length)) return true;
        i = (size_t)(found - text.at);
    }
    return false;
}

static bool is_size(er_arena *arena, er_text json, bool unigram)
{
    const size_t most = unigram ? 20 << 20 : 8 << 20, most_brackets = unigram ? 650000 : 100000;
    if (json.length > most)
        return er_refuse(arena->error, ER_BAD_BUNDLE, "tokenizer: expected %zu bytes at most, found %zu; " REMEDY, most, json.length);
    size_t brackets = 0;
    for (size_t i = 0; i < json.length; i++) brackets += json.at[i] == '[' || json.at[i] == '{';
    return brackets <= most_brackets || er_refuse(arena->error, ER_BAD_BUNDLE, "tokenizer: expected %zu objects and arrays at most; " REMEDY, most_brackets);
}

/* `scratch` is for what only reading needs. */
static bool read_file(er_arena *arena, er_arena *scratch, er_text json, er_tokenizer_parts *parts, uint32_t *ids)
{
    enum { MOST_NESTED = 64, MOST_CONTAINERS = 650000 };
    const er_json *value;
    const bool unigram = holds(json, "\"Unigram\"");
    uint32_t texts, added_count;
    if (!is_size(arena, json, unigram)) return false;
    er_text vocabulary = er_find_vocabulary(json, &texts), around = json;
    if (vocabulary.length && !without(scratch, json, vocabulary, &around)) return false;
    if (!er_json_read(scratch, around, MOST_NESTED, MOST_CONTAINERS, "tokenizer", &value)) return false;
    if (!vocabulary.length) { /* a key with escapes, or there is none */
        const er_json *model = er_json_get(value, "model"), *vocab = er_json_get(model, "vocab");
        if (!vocab) return er_refuse(arena->error, ER_BAD_BUNDLE, "tokenizer: model lacks \"vocab\"; " REMEDY);
        vocabulary = vocab->raw;
        texts = vocab->count;
    }
    er_added_told *added = ER_TAKE(scratch, er_added_told, MOST_ADDED);
    if (!added || !er_read_parts(arena, value, vocabulary, texts, parts, added, &added_count, ids)) return false;
    if (parts->kind == ER_UNIGRAM && !unigram && !is_size(arena, json, false)) return false;
    if (parts->kind != ER_UNIGRAM && unigram && !is_size(arena, json, false)) return false;
    if (!keep_added(arena, added, added_count, parts)) return false;
    make_quick(added, added_count, parts);
    parts->takes_spaces = !parts->quick && takes_spaces(scratch, parts);
    return true;
}

bool er_tokenizer_of(er_arena *arena, er_text json, er_tokenizer *tokenizer)
{
    er_tokenizer_parts *parts = ER_TAKE(arena, er_tokenizer_parts, 1);
    if (!parts) return false;
    er_arena scratch = {.error = arena->error};
    const bool fine = read_file(arena, &scratch, json, parts, &tokenizer->ids);
    er_give_back(&scratch);
    tokenizer->parts = parts;
    return fine;
}
