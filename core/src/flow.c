/* Section 16.3: which tool takes what another one gives, by mentions and by keys. */

#include <stdlib.h>

#include "json.h"
#include "lexicon.h"
#include "unicode.h"
#include "words.h"

enum { MOST_PAIRS = 1 << 18, MOST_NESTED = 64, MOST_CONTAINERS = 1 << 16, USUAL = 1 << 18 /* bytes that reading a tool takes */ };

/* Pairs of a kind while they are collected, by taker. */
typedef struct {
    uint32_t *starts, *givers; /* (tools + 1), (MOST_PAIRS at most) */
    uint32_t *latest;          /* (tools): the last taker of each giver, + 1 */
    uint32_t count, room;
    bool too_many;
} kind;

typedef struct {
    er_arena *arena, kept, text; /* kept: until all is arranged; text: until a tool was read */
    const er_lexicon *lexicon;
    uint32_t tools, taker;
    er_text *names;        /* (tools): lower case */
    uint32_t *slots, mask; /* tool + 1 by the hash of its name, the last one of equals */
    bool *producers;       /* (tools) */
    kind named, keyed;
} reader;

static bool add_pair(reader *r, kind *k, uint32_t giver)
{
    if (giver == r->taker || k->too_many || k->latest[giver] == r->taker + 1) return true;
    k->latest[giver] = r->taker + 1;
    if (k->count == MOST_PAIRS) return k->too_many = true;
    if (k->count == k->room) {
        const uint32_t more = k->room ? k->room * 2 : 256;
        uint32_t *made = ER_TAKE(&r->kept, uint32_t, more);
        if (!made) return false;
        if (k->count) memcpy(made, k->givers, k->count * sizeof *made);
        k->givers = made;
        k->room = more;
    }
    k->givers[k->count++] = giver;
    return true;
}

/* ---- Mentions ---- */

static bool is_inside(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A name that is mentioned; `mention` may be changed to lower case, and is ASCII. */
static bool add_mention(reader *r, char *mention, size_t length)
{
    bool plain = true; /* a plain word is no mention of a tool that happens to be called so */
    for (size_t i = 0; i < length; i++) {
        plain &= mention[i] >= 'a' && mention[i] <= 'z';
        if (mention[i] >= 'A' && mention[i] <= 'Z') mention[i] = (char)(mention[i] + 32);
    }
    const er_text name = {mention, length};
    for (uint32_t at = er_hash(name) & r->mask; !plain && r->slots[at]; at = (at + 1) & r->mask)
        if (er_same(r->names[r->slots[at] - 1], name)) return add_pair(r, &r->named, r->slots[at] - 1);
    return true;
}

static bool add_mentions(reader *r, er_text text)
{
    char *copy = ER_TAKE(&r->text, char, text.length + 1);
    if (!copy) return false;
    if (text.length) memcpy(copy, text.at, text.length);
    for (size_t i = 0; i < text.length; i++) {
        if (!is_inside(copy[i])) continue;
        size_t end = i + 1, next = i + 1; /* end: behind the last character that a name may end with */
        for (; next < text.length && (is_inside(copy[next]) || copy[next] == '.' || copy[next] == '-'); next++)
            if (is_inside(copy[next])) end = next + 1;
        if (end - i > 1 && !add_mention(r, copy + i, end - i)) return false;
        i = next - 1; /* what stands between is no beginning of a name */
    }
    return true;
}

/* What is no text, as text. */
static er_text text_of(const er_json *value)
{
    if (value->kind == ER_JSON_TEXT) return value->text;
    if (value->kind == ER_JSON_NULL) return ER_TEXT("None");
    if (value->kind == ER_JSON_BOOLEAN) return value->truth ? ER_TEXT("True") : ER_TEXT("False");
    return value->raw;
}

/* ---- Keys ---- */

static bool has_line_end(er_text text) { return text.length && memchr(text.at, '\n', text.length); }

/* The owner of a key, `order` of `order_id`: empty for what is none. It is the shortest that leaves an ending. */
static er_text owner_of(er_text key)
{
    static const char *const endings[] = {"id", "ids", "ID", "IDs", "Id", "Ids", "identifier", "number", "code", "token", "key", "name"};
    er_text owner = {key.at, 0};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t length = strlen(endings[i]);
        if (key.length <= length || memcmp(key.at + key.length - length, endings[i], length)) continue;
        size_t left = key.length - length;
        if (left > 1 && (key.at[left - 1] == '_' || key.at[left - 1] == ' ')) left--;
        if (!owner.length || left < owner.length) owner.length = left;
    }
    return has_line_end(owner) ? (er_text){key.at, 0} : owner;
}

static int rising(const void *a, const void *b)
{
    const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

/* Where the tools begin whose texts, and not names, have a word: names come first among its holders. */
static uint32_t end_of_names(const er_lexicon *l, uint32_t word)
{
    uint32_t low = l->holder_starts[word], high = l->holder_starts[word + 1];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (l->holders[middle] < l->tools) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Whether a tool's name has all of some places, rising. */
static bool has_all(const er_lexicon *l, uint32_t tool, const uint32_t *places, uint32_t count)
{
    uint32_t i = l->starts[tool];
    for (uint32_t k = 0; k < count; k++, i++) {
        while (i < l->starts[tool + 1] && l->places[i] < places[k]) i++;
        if (i == l->starts[tool + 1] || l->places[i] != places[k]) return false;
    }
    return true;
}

static bool add_key(reader *r, er_text key)
{
    const er_lexicon *l = r->lexicon;
    er_text in_words;
    er_points points;
    const er_word *words;
    uint32_t word_count, count = 0, fewest = UINT32_MAX, rarest = 0;
    const er_text owner = owner_of(key);
    if (!owner.length) return true;
    if (!er_name_in_words(&r->text, owner, &in_words) || !er_points_of(&r->text, in_words, &points) || !er_words_of(&r->text, &points, &words, &word_count))
        return false;
    uint32_t *places = ER_TAKE(&r->text, uint32_t, word_count + 1);
    if (!places) return false;
    for (uint32_t i = 0; i < word_count; i++) {
        const uint32_t place = er_word_place(l, words[i].stem);
        if (place >= l->count) return true;
        places[i] = place;
    }
    qsort(places, word_count, sizeof *places, rising);
    for (uint32_t i = 0; i < word_count; i++) {
        if (i && places[i] == places[i - 1]) continue;
        const uint32_t holders = end_of_names(l, places[i]) - l->holder_starts[places[i]];
        if (holders < fewest) fewest = holders, rarest = places[i];
        places[count++] = places[i];
    }
    for (uint32_t i = 0; count && i < fewest; i++) {
        const uint32_t giver = l->holders[l->holder_starts[rarest] + i];
        if (r->producers[giver] && has_all(l, giver, places, count) && !add_pair(r, &r->keyed, giver)) return false;
    }
    return true;
}

/* ---- All tools ---- */

static bool read_tool(reader *r, const er_tool_text *tool)
{
    const er_place mark = er_mark(&r->text);
    const er_json *schema = NULL;
    if (!add_mentions(r, tool->description) ||
        (tool->parameters.length && !er_json_read(&r->text, tool->parameters, MOST_NESTED, MOST_CONTAINERS, "a tool's parameters", &schema)))
        return false;
    const er_json *properties = er_json_get(schema, "properties"), *required = er_json_get(schema, "required");
    for (uint32_t i = 0; properties && properties->kind == ER_JSON_OBJECT && i < properties->count; i++) {
        const er_json *told = er_json_get(&properties->items[i], "description");
        if (told && !add_mentions(r, text_of(told))) return false;
    }
    for (uint32_t i = 0; required && required->kind == ER_JSON_ARRAY && i < required->count; i++)
        if (required->items[i].kind == ER_JSON_TEXT && !add_key(r, required->items[i].text)) return false;
    er_release(&r->text, mark);
    return true;
}

static bool lower_names(reader *r, const er_tool_text *tools)
{
    uint32_t size = 16;
    while (size < r->tools * 2) size *= 2;
    r->mask = size - 1;
    r->slots = ER_TAKE(&r->kept, uint32_t, size);
    r->names = ER_TAKE(&r->kept, er_text, r->tools + 1);
    if (!r->slots || !r->names) return false;
    for (uint32_t tool = 0; tool < r->tools; tool++) {
        const er_place mark = er_mark(&r->text);
        er_points name;
        uint32_t *lower;
        if (!er_points_of(&r->text, tools[tool].name, &name) || !(lower = ER_TAKE(&r->text, uint32_t, 2 * (size_t)name.count + 1)) ||
            !er_text_of(&r->kept, lower, er_lower(name.points, name.count, lower), &r->names[tool]))
            return false;
        uint32_t at = er_hash(r->names[tool]) & r->mask;
        while (r->slots[at] && !er_same(r->names[r->slots[at] - 1], r->names[tool])) at = (at + 1) & r->mask;
        r->slots[at] = tool + 1;
        er_release(&r->text, mark);
    }
    return true;
}

/* Tools whose names say that they find something. */
static bool find_producers(reader *r)
{
    static const char *const verbs[] = {"browse", "check", "create", "detect", "fetch", "find",     "get",    "identify", "list",
                                        "locate", "look",  "lookup", "query",  "read",  "retrieve", "search", "show"};
    const er_lexicon *l = r->lexicon;
    if (!(r->producers = ER_TAKE(&r->kept, bool, r->tools + 1))) return false;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const uint32_t word = er_word_place(l, er_stem(&r->kept, (er_text){verbs[i], strlen(verbs[i])}));
        if (word >= l->count) continue;
        for (uint32_t k = l->holder_starts[word]; k < end_of_names(l, word); k++) r->producers[l->holders[k]] = true;
    }
    return true;
}

/* Both directions, each rising. */
static bool arrange(reader *r, kind *k, er_pairs *pairs)
{
    const uint32_t n = r->tools, count = k->too_many ? 0 : k->count;
    uint32_t *giver_starts = ER_TAKE(r->arena, uint32_t, (size_t)n + 1), *givers = ER_TAKE(r->arena, uint32_t, (size_t)count + 1);
    uint32_t *taker_starts = ER_TAKE(r->arena, uint32_t, (size_t)n + 2), *takers = ER_TAKE(r->arena, uint32_t, (size_t)count + 1);
    if (!giver_starts || !givers || !taker_starts || !takers) return false;
    *pairs = (er_pairs){giver_starts, givers, taker_starts, takers, count};
    if (!count) return true;
    memcpy(giver_starts, k->starts, ((size_t)n + 1) * sizeof *giver_starts);
    memcpy(givers, k->givers, count * sizeof *givers);
    for (uint32_t taker = 0; taker < n; taker++)
        qsort(givers + giver_starts[taker], giver_starts[taker + 1] - giver_starts[taker], sizeof *givers, rising);
    /* Counted two places ahead, they begin one ahead, and where all are filled in they stand where they belong. */
    for (uint32_t i = 0; i < count; i++) taker_starts[givers[i] + 2]++;
    for (uint32_t i = 2; i <= n + 1; i++) taker_starts[i] += taker_starts[i - 1];
    for (uint32_t taker = 0; taker < n; taker++)
        for (uint32_t i = giver_starts[taker]; i < giver_starts[taker + 1]; i++) takers[taker_starts[givers[i] + 1]++] = taker;
    return true;
}

static bool start(reader *r, kind *k)
{
    k->starts = ER_TAKE(&r->kept, uint32_t, (size_t)r->tools + 1);
    k->latest = ER_TAKE(&r->kept, uint32_t, (size_t)r->tools + 1);
    return k->starts && k->latest;
}

static bool read_all(reader *r, const er_tool_text *tools)
{
    if (!ER_TAKE(&r->text, char, USUAL)) return false;
    er_release(&r->text, (er_place){r->text.blocks, 0}); /* a block that stays, and is filled anew with every tool */
    if (!lower_names(r, tools) || !find_producers(r) || !start(r, &r->named) || !start(r, &r->keyed)) return false;
    for (r->taker = 0; r->taker < r->tools; r->taker++) {
        if (!read_tool(r, &tools[r->taker])) return false;
        r->named.starts[r->taker + 1] = r->named.count;
        r->keyed.starts[r->taker + 1] = r->keyed.count;
    }
    return true;
}

bool er_flow_of(er_arena *arena, const er_lexicon *lexicon, const er_tool_text *tools, uint32_t count, er_flow *flow)
{
    reader r = {.arena = arena, .kept = {.error = arena->error}, .text = {.error = arena->error}, .lexicon = lexicon, .tools = count};
    const bool done = read_all(&r, tools) && arrange(&r, &r.named, &flow->named) && arrange(&r, &r.keyed, &flow->keyed);
    er_give_back(&r.kept);
    er_give_back(&r.text);
    return done;
}
