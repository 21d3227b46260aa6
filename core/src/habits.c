/* What tools do, found once a tool set: sides (16.10), kinds of values (16.12), whether they change something (16.13); and
   what that says for and against each of them. Tools are read in English. */

#include "json.h"
#include "lexicon.h"
#include "said.h"
#include "unicode.h"

enum { MOST_PARAMETERS = 48, DESCRIPTION_READ = 200, DESCRIPTION_WORDS = 6, MOST_NESTED = 64, MOST_CONTAINERS = 1 << 20 };
enum { ON = 0, OFF = 1, START = 4, STOP = 5, REMOVE = 11 }; /* sides: pairs in order, twice the number and 1 more for the second */
static const uint64_t ending = 1u << OFF | 1u << STOP | 1u << REMOVE;
static const uint64_t switches = 1u << ON | 1u << OFF | 1u << START | 1u << STOP; /* "wifi off" is not for every switch */

/* The other side of every pair. */
static uint64_t turned(uint64_t sides) { return (sides & 0x5555555555555555u) << 1 | (sides >> 1 & 0x5555555555555555u); }

/* ---- One tool ---- */

/* While tools are read: `scratch` is released after each, `kept` when all are read. */
typedef struct {
    er_arena scratch, kept;
    er_text *stems;       /* of names, tool by tool, each once a tool */
    uint32_t *starts;     /* (tools + 1) */
    uint64_t *named;
    char *bytes;
    uint32_t tools;
} reader;

static bool lower_text(er_arena *arena, er_text text, er_view *low)
{
    er_points points;
    er_said said;
    if (!er_points_of(arena, text, &points) || !er_said_of(arena, points.points, points.count, &said)) return false;
    *low = said.low;
    return true;
}

static bool sides_in(er_arena *arena, er_text text, uint64_t *sides)
{
    er_view low;
    er_span word;
    if (!lower_text(arena, text, &low)) return false;
    for (uint32_t at = 0; er_next_word(ER_EN, &low, &at, &word);) {
        const uint8_t side = er_role_of(er_stem_facts(low.points + word.begin, word.end - word.begin), ER_EN)->side;
        if (side) *sides |= (uint64_t)1 << (side - 1);
    }
    return true;
}

/* What stands between white space. */
static bool next_run(const er_view *text, uint32_t *at, er_span *run)
{
    uint32_t i = *at;
    while (i < text->count && text->kinds[i] & ER_IS_SPACE) i++;
    run->begin = i;
    while (i < text->count && !(text->kinds[i] & ER_IS_SPACE)) i++;
    run->end = *at = i;
    return run->end > run->begin;
}

/* Whether a verb tells (1) or changes something (2); 0 for what is none. */
static uint32_t verb_of(const er_view *low, er_span word)
{
    static const char marks[] = ".,:;()";
    while (word.end > word.begin && low->points[word.begin] < 128 && strchr(marks, (int)low->points[word.begin])) word.begin++;
    while (word.end > word.begin && low->points[word.end - 1] < 128 && strchr(marks, (int)low->points[word.end - 1])) word.end--;
    return er_uses_of(er_stem_facts(low->points + word.begin, word.end - word.begin))->tool & (ER_TELLS | ER_CHANGES);
}

/* By the first verb of: the name's first word, the description's first ones, the rest of the name. */
static bool changes(er_arena *arena, er_text name, er_text description, bool *found)
{
    er_view low, told;
    er_points points;
    er_said said;
    er_span word;
    uint32_t at = 0, there = 0, verb = 0;
    if (!lower_text(arena, name, &low) || !er_points_of(arena, description, &points)) return false;
    if (!er_said_of(arena, points.points, points.count < DESCRIPTION_READ ? points.count : DESCRIPTION_READ, &said)) return false;
    told = said.low;
    if (next_run(&low, &at, &word)) verb = verb_of(&low, word);
    for (int i = 0; i < DESCRIPTION_WORDS && !verb && next_run(&told, &there, &word); i++) verb = verb_of(&told, word);
    while (!verb && next_run(&low, &at, &word)) verb = verb_of(&low, word);
    *found = verb & ER_CHANGES;
    return true;
}

static bool kinds_by_key(er_arena *arena, er_text key, uint32_t *kinds)
{
    er_text name;
    er_view low;
    er_span word;
    if (!er_name_in_words(arena, key, &name) || !lower_text(arena, name, &low)) return false;
    for (uint32_t at = 0; next_run(&low, &at, &word);) {
        while (word.end > word.begin && low.points[word.end - 1] >= '0' && low.points[word.end - 1] <= '9') word.end--;
        *kinds |= er_uses_of(er_facts_of(&low, word))->takes;
    }
    return true;
}

static uint32_t kinds_by_format(const er_json *format)
{
    static const struct { const char *format; uint32_t kind; } kinds[] = {
        {"uri", ER_VALUE_URL}, {"url", ER_VALUE_URL}, {"email", ER_VALUE_EMAIL}, {"date", ER_VALUE_DATE},
        {"time", ER_VALUE_TIME}, {"date-time", ER_VALUE_DATE}};
    if (!format || format->kind != ER_JSON_TEXT) return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (er_is(format->text, kinds[i].format)) return 1u << kinds[i].kind;
    return 0;
}

static bool read_parameters(er_arena *arena, er_text schema, uint64_t *sides, uint32_t *kinds)
{
    const er_json *json;
    if (!er_json_read(arena, schema, MOST_NESTED, MOST_CONTAINERS, "parameters", &json)) return false;
    const er_json *properties = er_json_get(json, "properties");
    if (!properties || properties->kind != ER_JSON_OBJECT) return true;
    for (uint32_t i = 0; i < properties->count; i++) {
        const er_json *property = &properties->items[i], *values = er_json_get(property, "enum");
        if (i < MOST_PARAMETERS) {
            if (!kinds_by_key(arena, properties->keys[i], kinds)) return false;
            *kinds |= kinds_by_format(er_json_get(property, "format"));
        }
        for (uint32_t k = 0; values && values->kind == ER_JSON_ARRAY && k < values->count; k++)
            if (values->items[k].kind == ER_JSON_TEXT && !sides_in(arena, values->items[k].text, sides)) return false;
    }
    return true;
}

static bool is_stem_of(er_arena *arena, er_text stem, uint32_t *tool, bool *on_side)
{
    er_points points;
    if (!er_points_of(arena, stem, &points)) return false;
    const er_facts *facts = er_word_facts(points.points, points.count, NULL);
    *tool = er_uses_of(facts)->tool;
    *on_side = er_role_of(facts, ER_EN)->side;
    return true;
}

/* Keeps the different words of a name. */
static bool keep_name(reader *r, uint32_t tool, er_text name)
{
    er_points points;
    const er_word *words;
    uint32_t count, n = r->starts[tool];
    if (!er_points_of(&r->scratch, name, &points) || !er_words_of(&r->scratch, &points, &words, &count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = r->starts[tool];
        while (k < n && !er_same(r->stems[k], words[i].stem)) k++;
        if (k < n) continue;
        memcpy(r->bytes, words[i].stem.at, words[i].stem.length);
        r->stems[n++] = (er_text){r->bytes, words[i].stem.length};
        r->bytes += words[i].stem.length;
    }
    r->starts[tool + 1] = n;
    return true;
}

/* ---- All tools ---- */

typedef struct {
    uint64_t *does, *takes;
    uint32_t *kinds;
    bool *changes, *ends, *speaks;
} found_habits;

static bool read_tools(reader *r, const er_tool_text *tools, found_habits *h)
{
    for (uint32_t i = 0; i < r->tools; i++) {
        const er_place place = er_mark(&r->scratch);
        er_text name;
        uint64_t taken = 0;
        if (!er_name_in_words(&r->scratch, tools[i].name, &name) || !keep_name(r, i, name)) return false;
        if (!sides_in(&r->scratch, name, &r->named[i]) || !sides_in(&r->scratch, tools[i].description, &taken)) return false;
        if (!read_parameters(&r->scratch, tools[i].parameters, &taken, &h->kinds[i])) return false;
        if (!changes(&r->scratch, name, tools[i].description, &h->changes[i])) return false;
        h->ends[i] = r->named[i] & ending;
        h->takes[i] = taken & turned(taken) & ~switches;
        er_release(&r->scratch, place);
    }
    return true;
}

static uint32_t hash_text(er_text text)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.length; i++) hash = (hash ^ (unsigned char)text.at[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static uint32_t stem_slot(const er_text *stems, const uint32_t *slots, uint32_t mask, er_text stem)
{
    uint32_t slot = hash_text(stem) & mask;
    while (slots[slot] && !er_same(stems[slots[slot] - 1], stem)) slot = (slot + 1) & mask;
    return slot;
}

/* Numbers the different words of all names, and lists who has each. `numbers` (entries) are those of the entries. */
static bool index_names(er_arena *arena, reader *r, er_habits *habits, uint32_t *numbers)
{
    const uint32_t entries = r->starts[r->tools];
    uint32_t mask = 7, count = 0;
    while (mask < 2 * entries) mask = 2 * mask + 1;
    uint32_t *slots = ER_TAKE(arena, uint32_t, (size_t)mask + 1);
    er_text *stems = ER_TAKE(&r->kept, er_text, entries + 1);
    if (!slots || !stems) return false;
    for (uint32_t i = 0; i < entries; i++) {
        const uint32_t slot = stem_slot(stems, slots, mask, r->stems[i]);
        if (!slots[slot]) {
            stems[count++] = r->stems[i];
            slots[slot] = count;
        }
        numbers[i] = slots[slot] - 1;
    }
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) bytes += stems[i].length;
    char *at = ER_TAKE(arena, char, bytes + 1);
    er_text *own = ER_TAKE(arena, er_text, count + 1);
    uint32_t *starts = ER_TAKE(arena, uint32_t, count + 2), *holders = ER_TAKE(arena, uint32_t, entries + 1);
    if (!at || !own || !starts || !holders) return false;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(at, stems[i].at, stems[i].length);
        own[i] = (er_text){at, stems[i].length};
        at += stems[i].length;
    }
    /* Counted two places on, so that filling moves each start to where it belongs. */
    for (uint32_t i = 0; i < entries; i++) starts[numbers[i] + 2]++;
    for (uint32_t i = 1; i <= count; i++) starts[i + 1] += starts[i];
    for (uint32_t tool = 0; tool < r->tools; tool++)
        for (uint32_t i = r->starts[tool]; i < r->starts[tool + 1]; i++) holders[starts[numbers[i] + 1]++] = tool;
    habits->stems = own;
    habits->stem_slots = slots;
    habits->stem_mask = mask;
    habits->stem_count = count;
    habits->holder_starts = starts;
    habits->holders = holders;
    return true;
}

/* Tools whose names have the same words beside those on a side do what another one of them undoes: `beside` are the numbers
   of these words, rising, and their starts. */
static bool pair_up(reader *r, const uint32_t *beside, const uint32_t *starts, uint64_t *does)
{
    uint32_t mask = 7;
    while (mask < 2 * r->tools) mask = 2 * mask + 1;
    uint32_t *slots = ER_TAKE(&r->kept, uint32_t, (size_t)mask + 1), *first = ER_TAKE(&r->kept, uint32_t, r->tools + 1);
    uint64_t *together = ER_TAKE(&r->kept, uint64_t, r->tools + 1);
    if (!slots || !first || !together) return false;
    for (uint32_t i = 0; i < r->tools; i++) {
        const uint32_t *words = beside + starts[i], n = starts[i + 1] - starts[i];
        uint32_t hash = 2166136261u ^ n;
        for (uint32_t k = 0; k < n; k++) hash = (hash ^ words[k]) * 16777619u;
        uint32_t slot = (hash ^ hash >> 15) & mask;
        for (; slots[slot]; slot = (slot + 1) & mask) {
            const uint32_t other = slots[slot] - 1;
            if (starts[other + 1] - starts[other] == n && (!n || !memcmp(beside + starts[other], words, n * sizeof *words))) break;
        }
        if (!slots[slot]) slots[slot] = i + 1;
        first[i] = slots[slot] - 1;
        together[first[i]] |= r->named[i];
    }
    for (uint32_t i = 0; i < r->tools; i++) does[i] = r->named[i] & turned(together[first[i]]);
    return true;
}

static bool connect(er_arena *arena, reader *r, er_habits *habits, found_habits *h)
{
    const uint32_t entries = r->starts[r->tools];
    uint32_t *numbers = ER_TAKE(&r->kept, uint32_t, entries + 1), *beside = ER_TAKE(&r->kept, uint32_t, entries + 1);
    uint32_t *starts = ER_TAKE(&r->kept, uint32_t, r->tools + 1), n = 0;
    if (!numbers || !beside || !starts || !index_names(arena, r, habits, numbers)) return false;
    uint8_t *told = ER_TAKE(&r->kept, uint8_t, habits->stem_count + 1); /* ER_SPEAKS, and 128 for a word on a side */
    if (!told) return false;
    for (uint32_t i = 0; i < habits->stem_count; i++) {
        const er_place place = er_mark(&r->scratch);
        uint32_t tool;
        bool on_side;
        if (!is_stem_of(&r->scratch, habits->stems[i], &tool, &on_side)) return false;
        told[i] = (uint8_t)(tool | (on_side ? 128u : 0u));
        er_release(&r->scratch, place);
    }
    for (uint32_t tool = 0; tool < r->tools; tool++) {
        for (uint32_t i = r->starts[tool]; i < r->starts[tool + 1]; i++) {
            h->speaks[tool] = h->speaks[tool] || told[numbers[i]] & ER_SPEAKS;
            if (told[numbers[i]] & 128) continue;
            uint32_t k = n++;
            for (; k > starts[tool] && beside[k - 1] > numbers[i]; k--) beside[k] = beside[k - 1];
            beside[k] = numbers[i];
        }
        starts[tool + 1] = n;
    }
    return pair_up(r, beside, starts, h->does);
}

bool er_habits_of(er_arena *arena, const er_tool_text *tools, uint32_t count, bool silent, er_habits *habits)
{
    found_habits h = {ER_TAKE(arena, uint64_t, count + 1), ER_TAKE(arena, uint64_t, count + 1), ER_TAKE(arena, uint32_t, count + 1),
                      ER_TAKE(arena, bool, count + 1), ER_TAKE(arena, bool, count + 1), ER_TAKE(arena, bool, count + 1)};
    if (!h.does || !h.takes || !h.kinds || !h.changes || !h.ends || !h.speaks) return false;
    *habits = (er_habits){.does = h.does, .takes = h.takes, .kinds = h.kinds, .changes = h.changes, .ends = h.ends, .speaks = h.speaks,
                          .tools = count, .silent = silent};
    if (silent) return true;
    reader r = {.scratch = {.error = arena->error}, .kept = {.error = arena->error}, .tools = count};
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) bytes += tools[i].name.length;
    r.stems = ER_TAKE(&r.kept, er_text, bytes / 2 + count + 1);
    r.starts = ER_TAKE(&r.kept, uint32_t, (size_t)count + 1);
    r.named = ER_TAKE(&r.kept, uint64_t, (size_t)count + 1);
    r.bytes = ER_TAKE(&r.kept, char, bytes * 3 + 1); /* in lower case two bytes may become three */
    const bool fine = r.stems && r.starts && r.named && r.bytes && read_tools(&r, tools, &h) && connect(arena, &r, habits, &h);
    er_give_back(&r.scratch);
    er_give_back(&r.kept);
    for (uint32_t i = 0; fine && i < count; i++)
        for (uint32_t kind = 0; kind < ER_VALUES; kind++) habits->kind_counts[kind] += h.kinds[i] >> kind & 1;
    return fine;
}

/* ---- What that says ---- */

static uint32_t ones(uint64_t bits)
{
    uint32_t n = 0;
    for (; bits; bits &= bits - 1) n++;
    return n;
}

/* Sets 1 for every tool whose name has any of these words. */
static void mark(const er_habits *h, const er_text *stems, uint32_t count, float *found)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t place = h->stem_slots[stem_slot(h->stems, h->stem_slots, h->stem_mask, stems[i])];
        if (!place) continue;
        for (uint32_t k = h->holder_starts[place - 1]; k < h->holder_starts[place]; k++) found[h->holders[k]] = 1;
    }
}

void er_opposed(const er_habits *h, const er_sides *said, float *opposed, float *agrees)
{
    memset(opposed, 0, h->tools * sizeof *opposed);
    memset(agrees, 0, h->tools * sizeof *agrees);
    if (h->silent) return;
    mark(h, said->negated, said->negated_count, opposed);
    mark(h, said->quoted, said->quoted_count, agrees);
    const uint64_t on = said->on & ~turned(said->on), off = turned(on);
    for (uint32_t i = 0; i < h->tools; i++) {
        const bool negated = opposed[i] > 0, quoted = agrees[i] > 0, speaks = said->quoted_count && h->speaks[i];
        uint32_t against = ones(off & h->does[i] & ~turned(h->does[i])), with = ones(on & (h->does[i] | h->takes[i]));
        with += (negated && h->ends[i]) + speaks;
        against += (negated && !h->ends[i]) + (quoted && !h->speaks[i]);
        opposed[i] = (float)against;
        agrees[i] = (float)with;
    }
}

void er_values_of(const er_habits *h, uint32_t held, uint32_t names, const double *weights, float *values)
{
    double worth[ER_VALUES];
    for (uint32_t kind = 0; kind < ER_VALUES; kind++) worth[kind] = weights[kind] * log(((double)names + 1) / ((double)h->kind_counts[kind] + 1));
    for (uint32_t i = 0; i < h->tools; i++) {
        double sum = 0;
        const uint32_t both = h->silent ? 0 : held & h->kinds[i];
        for (uint32_t kind = 0; both >> kind; kind++)
            if (both >> kind & 1) sum += worth[kind];
        values[i] = (float)sum;
    }
}
