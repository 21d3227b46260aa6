/* Sections 16.1 and 6.2: which words every tool has, arranged both ways. */

#include "lexicon.h"

#include <stdlib.h>

#include "json.h"
#include "words.h"

enum { NAME = 1, TEXT = 2, PARAMETERS = 4, DEEP = 8, FIELDS = 4, SETS = 3, /* what words are counted in; DEEP: anywhere */
       DEPTH = 4,                                                          /* levels of parameters that are read */
       POOL = 4096, USUAL = 1 << 18 /* bytes that reading a tool takes */, MOST_NESTED = 64, MOST_CONTAINERS = 1 << 16 };

typedef struct {
    uint32_t word, set;
} entry;

typedef struct {
    entry *at;
    uint32_t count, room;
} entries;

typedef struct {
    er_text stem, form;
    uint32_t latest[FIELDS]; /* the last tool that has it, + 1 */
} kept_word;

typedef struct {
    er_arena *arena;      /* of the lexicon, where the words' letters stay */
    er_arena kept, text;  /* until it is arranged; and until a text was read */
    kept_word *words;
    uint32_t count, room, *slots, mask;
    entries found[FIELDS];
    uint32_t tool;
    char *pool;
    size_t left;
} collector;

/* Room for one more of a growing array; what was there before stays in the arena until all of it goes. */
static bool make_room(er_arena *arena, void **at, uint32_t *room, uint32_t count, size_t size)
{
    if (count < *room) return true;
    if (*room > UINT32_MAX / 4) return er_refuse(arena->error, ER_NO_MEMORY, "tools with more than a thousand million words");
    const uint32_t more = *room ? *room * 2 : 1024;
    void *made = er_take(arena, more, size);
    if (!made) return false;
    if (count) memcpy(made, *at, count * size);
    *at = made;
    *room = more;
    return true;
}

/* The text in memory that stays. */
static bool keep(collector *c, er_text *text)
{
    if (text->length > c->left) {
        const size_t size = text->length > POOL ? text->length : POOL;
        if (!(c->pool = ER_TAKE(c->arena, char, size))) return false;
        c->left = size;
    }
    memcpy(c->pool, text->at, text->length);
    text->at = c->pool;
    c->pool += text->length;
    c->left -= text->length;
    return true;
}

static void put_slot(uint32_t *slots, uint32_t mask, er_text word, uint32_t number)
{
    uint32_t at = er_hash(word) & mask;
    while (slots[at]) at = (at + 1) & mask;
    slots[at] = number + 1;
}

/* A table of slots for so many words, at most half of them taken. */
static uint32_t *slots_for(er_arena *arena, uint32_t count, uint32_t *mask)
{
    uint32_t size = 16;
    while (size < count * 2u && size < 1u << 31) size *= 2;
    *mask = size - 1;
    return ER_TAKE(arena, uint32_t, size);
}

static bool number_of(collector *c, er_text stem, uint32_t *number)
{
    for (uint32_t at = er_hash(stem) & c->mask; c->slots[at]; at = (at + 1) & c->mask)
        if (er_same(c->words[c->slots[at] - 1].stem, stem)) return *number = c->slots[at] - 1, true;
    if (!make_room(&c->kept, (void **)&c->words, &c->room, c->count, sizeof *c->words) || !keep(c, &stem)) return false;
    c->words[c->count] = (kept_word){.stem = stem};
    *number = c->count++;
    if (c->count * 2u <= c->mask) {
        put_slot(c->slots, c->mask, stem, *number);
        return true;
    }
    if (!(c->slots = slots_for(&c->kept, c->count * 2, &c->mask))) return false;
    for (uint32_t i = 0; i < c->count; i++) put_slot(c->slots, c->mask, c->words[i].stem, i);
    return true;
}

/* The words of a text, into some fields of the tool that is read. */
static bool add_text(collector *c, er_text text, uint32_t fields)
{
    er_points points;
    const er_word *words;
    uint32_t count;
    const er_place mark = er_mark(&c->text);
    if (!er_points_of(&c->text, text, &points) || !er_words_of(&c->text, &points, &words, &count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number;
        if (!number_of(c, words[i].stem, &number)) return false;
        kept_word *word = &c->words[number];
        if (fields & TEXT && (!word->form.at || er_is_better_form(words[i].written, word->form))) {
            word->form = words[i].written;
            if (!keep(c, &word->form)) return false;
        }
        for (uint32_t field = 0; field < FIELDS; field++) {
            if (!(fields & 1u << field) || word->latest[field] == c->tool + 1) continue;
            word->latest[field] = c->tool + 1;
            entries *list = &c->found[field];
            if (!make_room(&c->kept, (void **)&list->at, &list->room, list->count, sizeof *list->at)) return false;
            list->at[list->count++] = (entry){number, c->tool};
        }
    }
    er_release(&c->text, mark);
    return true;
}

static bool add_name(collector *c, er_text name, uint32_t fields)
{
    er_text words;
    return er_name_in_words(&c->text, name, &words) && add_text(c, words, fields);
}

/* Section 16.7, `explained`: keys, descriptions, values of `enum`, and the same of `items`; so many levels. */
static bool add_told(collector *c, const er_json *properties, int depth)
{
    if (!properties || properties->kind != ER_JSON_OBJECT) return true;
    for (uint32_t i = 0; i < properties->count; i++) {
        const er_json *part = &properties->items[i], *both[] = {part, er_json_get(part, "items")};
        if (!add_name(c, properties->keys[i], depth == DEPTH ? PARAMETERS | DEEP : DEEP)) return false;
        for (int k = 0; k < 2; k++) {
            const er_json *told = er_json_get(both[k], "description"), *values = er_json_get(both[k], "enum");
            if (told && told->kind == ER_JSON_TEXT && !add_text(c, told->text, DEEP)) return false;
            for (uint32_t v = 0; values && values->kind == ER_JSON_ARRAY && v < values->count; v++)
                if (values->items[v].kind == ER_JSON_TEXT && !add_text(c, values->items[v].text, DEEP)) return false;
            if (depth > 1 && !add_told(c, er_json_get(both[k], "properties"), depth - 1)) return false;
        }
    }
    return true;
}

static bool add_tool(collector *c, const er_described *described)
{
    const er_tool_text *tool = &described->tool;
    const er_place mark = er_mark(&c->text);
    if (!add_name(c, tool->name, NAME | TEXT | PARAMETERS | DEEP) || !add_text(c, tool->description, TEXT | DEEP)) return false;
    for (uint32_t i = 0; i < described->example_count; i++)
        if (!add_text(c, described->examples[i], TEXT | DEEP)) return false;
    const er_json *schema = NULL;
    if (tool->parameters.length && !er_json_read(&c->text, tool->parameters, MOST_NESTED, MOST_CONTAINERS, "a tool's parameters", &schema)) return false;
    if (!add_told(c, er_json_get(schema, "properties"), DEPTH)) return false;
    er_release(&c->text, mark);
    return true;
}

typedef struct {
    er_text word;
    uint32_t number;
    bool deep; /* nothing but further down */
} ranked;

static int by_word(const void *a, const void *b)
{
    const ranked *one = a, *other = b;
    return one->deep != other->deep ? one->deep - other->deep : er_compare(one->word, other->word);
}

static bool only_deep(const kept_word *word) { return !word->latest[0] && !word->latest[1] && !word->latest[2]; }

/* Words in their order, with their forms, and of every number that a word had before its place. */
static bool rank_words(collector *c, er_lexicon *l, uint32_t *places)
{
    ranked *order = ER_TAKE(&c->kept, ranked, c->count + 1);
    er_text *words = ER_TAKE(c->arena, er_text, c->count + 1), *forms = ER_TAKE(c->arena, er_text, c->count + 1);
    if (!order || !words || !forms) return false;
    for (uint32_t i = 0; i < c->count; i++) order[i] = (ranked){c->words[i].stem, i, only_deep(&c->words[i])};
    qsort(order, c->count, sizeof *order, by_word);
    for (uint32_t i = 0; i < c->count; i++) {
        const er_text form = c->words[order[i].number].form;
        words[i] = order[i].word;
        forms[i] = form.at ? form : order[i].word;
        places[order[i].number] = i;
        if (!order[i].deep) l->count = i + 1;
    }
    l->words = words;
    l->forms = forms;
    l->all = c->count;
    return true;
}

/* Of lists of entries, with words by `places`: who holds each word, rising by list and set. Numbers of the second list are
   `step` higher, and so on. */
static bool list_holders(
    er_arena *arena, const entries *lists, uint32_t count, uint32_t step, const uint32_t *places, uint32_t words,
    const uint32_t **starts, const uint32_t **holders)
{
    size_t all = 0;
    for (uint32_t k = 0; k < count; k++) all += lists[k].count;
    if (all > UINT32_MAX) return er_refuse(arena->error, ER_NO_MEMORY, "tools with more than four thousand million words");
    uint32_t *ends = ER_TAKE(arena, uint32_t, (size_t)words + 2), *found = ER_TAKE(arena, uint32_t, all + 1);
    if (!ends || !found) return false;
    /* Counted two places ahead, they begin one ahead, and where all are filled in they stand where they belong. */
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t i = 0; i < lists[k].count; i++) ends[places[lists[k].at[i].word] + 2]++;
    for (uint32_t w = 2; w <= words + 1; w++) ends[w] += ends[w - 1];
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t i = 0; i < lists[k].count; i++) found[ends[places[lists[k].at[i].word] + 1]++] = k * step + lists[k].at[i].set;
    *starts = ends;
    *holders = found;
    return true;
}

/* Of lists (rows + 1 starts) of rising numbers below `columns`: for every number the rows that hold it, rising. */
static bool turn_round(
    er_arena *arena, const uint32_t *starts, const uint32_t *numbers, uint32_t rows, uint32_t columns, const uint32_t **turned_starts,
    const uint32_t **turned)
{
    uint32_t *ends = ER_TAKE(arena, uint32_t, (size_t)columns + 2), *found = ER_TAKE(arena, uint32_t, (size_t)starts[rows] + 1);
    if (!ends || !found) return false;
    for (uint32_t i = 0; i < starts[rows]; i++) ends[numbers[i] + 2]++;
    for (uint32_t n = 2; n <= columns + 1; n++) ends[n] += ends[n - 1];
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t i = starts[row]; i < starts[row + 1]; i++) found[ends[numbers[i] + 1]++] = row;
    *turned_starts = ends;
    *turned = found;
    return true;
}

/* n(w) of 16.2, and where each word is found by its letters. */
static bool finish(er_arena *arena, er_lexicon *l)
{
    uint32_t *in_texts = ER_TAKE(arena, uint32_t, (size_t)l->count + 1), *slots = slots_for(arena, l->all, &l->mask);
    if (!in_texts || !slots) return false;
    for (uint32_t word = 0; word < l->count; word++)
        for (uint32_t i = l->holder_starts[word]; i < l->holder_starts[word + 1]; i++)
            in_texts[word] += l->holders[i] >= l->tools && l->holders[i] < 2 * l->tools;
    for (uint32_t word = 0; word < l->all; word++) put_slot(slots, l->mask, l->words[word], word);
    l->in_texts = in_texts;
    l->slots = slots;
    return er_rarities(arena, l, l->tools, &l->rarities);
}

/* Section 6.2: what a bundle brought, whose rules load.c has checked. */
static bool take_arranged(er_arena *arena, const er_arranged_words *words, er_lexicon *l)
{
    l->words = words->words;
    l->forms = words->forms;
    l->count = l->all = words->count;
    l->starts = words->starts;
    l->places = words->numbers;
    return turn_round(arena, l->starts, l->places, SETS * l->tools, l->count, &l->holder_starts, &l->holders);
}

static bool collect(collector *c, const er_described *tools, er_lexicon *l)
{
    if (!(c->slots = slots_for(&c->kept, 1024, &c->mask)) || !ER_TAKE(&c->text, char, USUAL)) return false;
    er_release(&c->text, (er_place){c->text.blocks, 0}); /* a block that stays, and is filled anew with every tool */
    for (c->tool = 0; c->tool < l->tools; c->tool++)
        if (!add_tool(c, &tools[c->tool])) return false;
    uint32_t *places = ER_TAKE(&c->kept, uint32_t, c->count + 1);
    return places && rank_words(c, l, places) &&
           list_holders(c->arena, c->found, SETS, l->tools, places, l->count, &l->holder_starts, &l->holders) &&
           list_holders(c->arena, c->found + SETS, 1, 0, places, l->all, &l->deep_starts, &l->deep_holders) &&
           turn_round(c->arena, l->holder_starts, l->holders, l->count, SETS * l->tools, &l->starts, &l->places);
}

bool er_lexicon_of(er_arena *arena, const er_described *tools, uint32_t count, const er_arranged_words *arranged, er_lexicon *l)
{
    *l = (er_lexicon){.tools = count};
    if (count > UINT32_MAX / 8) return er_refuse(arena->error, ER_BAD_BUNDLE, "%u tools are too many", count);
    if (arranged) return take_arranged(arena, arranged, l) && finish(arena, l);
    collector c = {.arena = arena, .kept = {.error = arena->error}, .text = {.error = arena->error}};
    const bool done = collect(&c, tools, l);
    er_give_back(&c.kept);
    er_give_back(&c.text);
    return done && finish(arena, l);
}

uint32_t er_word_place(const er_lexicon *l, er_text word)
{
    for (uint32_t at = er_hash(word) & l->mask; l->slots[at]; at = (at + 1) & l->mask)
        if (er_same(l->words[l->slots[at] - 1], word)) return l->slots[at] - 1;
    return UINT32_MAX;
}
