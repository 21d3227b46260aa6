/* Section 6: tools.json. A line for every tool; all are read here, since their words are. */

#include "json.h"
#include "parts.h"
#include "unicode.h"
#include "utf8.h"

enum {
    MOST_TOOLS = 100000,
    MOST_NAME = 256,
    MOST_DESCRIPTION = 16384,
    MOST_PARAMETERS = 1 << 16,
    MOST_NESTED = 32,
    MOST_EXAMPLES = 20,
    MOST_EXAMPLE = 200,
    MOST_CONTAINERS = 100000
};

typedef struct {
    er_arena *arena, *scratch; /* scratch: for what is decoded of one line */
    const char *where, *remedy;
    er_status status;
} reader;

static bool wrong(const reader *r, const char *what, er_text of)
{
    return er_refuse(r->arena->error, r->status, "%s: \"%s\" %s; %s", r->where, er_show(of).at, what, r->remedy);
}

/* ---- Characters that a reader would not see ---- */

static bool one_of(uint32_t point, const uint32_t *known, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (known[i] == point) return true;
    return false;
}

static bool is_layout(uint32_t c) { return c == '\t' || c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029; }
static bool is_joiner(uint32_t c) { return c == 0x200c || c == 0x200d; }

/* Nothing is drawn for these, whatever their category says. */
static bool is_blank(uint32_t c)
{
    static const uint32_t blank[] = {0x34f,  0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d,
                                     0x180f, 0x2065, 0x2800, 0x3164, 0xffa0};
    return one_of(c, blank, sizeof blank / sizeof *blank) || (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xfff0 && c <= 0xfff8) ||
           (c >= 0xe0000 && c <= 0xe0fff);
}

static bool is_hidden(uint32_t c)
{
    /* Formats by their category, and drawn: signs of Arabic, Syriac and Kaithi that stand around numbers. */
    static const uint32_t seen[] = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd};
    if (is_layout(c) || is_joiner(c) || c == 0xfe0e || c == 0xfe0f || one_of(c, seen, sizeof seen / sizeof *seen)) return false;
    const er_category category = er_category_of(c);
    return category == ER_CC || category == ER_CF || category == ER_CO || category == ER_CS || is_blank(c);
}

/* Bytes of a flag of England, Scotland or Wales, which emoji spell with tags; any other tags could spell anything. */
static size_t flag(er_text text, size_t at)
{
    static const char *const flags[] = {"gbeng", "gbsct", "gbwls"};
    size_t i = at;
    if (er_point_at(text, &i) != 0x1f3f4) return 0;
    for (int f = 0; f < 3; f++) {
        size_t next = i, k = 0;
        while (k < 6 && next < text.length && er_point_at(text, &next) == (k < 5 ? 0xe0000u + (uint32_t)flags[f][k] : 0xe007fu)) k++;
        if (k == 6) return next - at;
    }
    return 0;
}

static bool shows(er_text text, bool name)
{
    for (size_t i = 0; i < text.length;) {
        const unsigned char c = (unsigned char)text.at[i];
        if (c >= 0x20 && c < 0x7f) {
            i++;
            continue;
        }
        const size_t drawn = c == 0xf0 ? flag(text, i) : 0;
        if (drawn) {
            i += drawn;
            continue;
        }
        const uint32_t point = er_point_at(text, &i);
        if (is_hidden(point) || (name && (is_layout(point) || is_joiner(point)))) return false;
    }
    return true;
}

/* White space at the ends, or nothing else: what is no space stands first and last. */
static bool ends_hold(er_text text, bool *blank)
{
    bool first = false, last = true;
    *blank = true;
    for (size_t i = 0; i < text.length;) {
        const bool begin = !i;
        last = er_is_space(er_point_at(text, &i));
        first |= begin && last;
        *blank &= last;
    }
    return !first && !last;
}

bool er_is_tool_name(er_text name)
{
    bool blank;
    return !er_is(name, "<start>") && !er_is(name, "<end>") && ends_hold(name, &blank) && er_count_points(name) <= MOST_NAME && shows(name, true);
}

/* ---- Fields ---- */

static bool text_of(const reader *r, const er_json *entry, const char *key, er_text *text)
{
    const er_json *found = er_json_get(entry, key);
    bool blank = true;
    if (found && found->kind == ER_JSON_TEXT) ends_hold(found->text, &blank);
    if (blank) return er_refuse(r->arena->error, r->status, "%s: \"%s\" must be a text that is not empty; %s", r->where, key, r->remedy);
    *text = found->text;
    return true;
}

static size_t written(er_text text)
{
    size_t length = text.length + 2;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        if (c == '"' || c == '\\') length++;
        else if (c < 0x20) length += c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f' ? 1 : 5;
    }
    return length;
}

/* How many bytes a value has without spaces; no more than MOST_NESTED arrays and objects with something in them may stand
   inside each other, and er_json_read bounds how deep this goes. */
static bool measure(const er_json *value, uint32_t depth, size_t *bytes)
{
    if (value->kind == ER_JSON_TEXT) *bytes += written(value->text);
    else if (value->kind < ER_JSON_ARRAY) *bytes += value->raw.length;
    else {
        if (value->count && depth == MOST_NESTED) return false;
        *bytes += 1 + (value->count ? value->count : 1);
        for (uint32_t i = 0; i < value->count; i++) {
            if (value->keys) *bytes += written(value->keys[i]) + 1;
            if (*bytes > MOST_PARAMETERS || !measure(&value->items[i], depth + 1, bytes)) return false;
        }
    }
    return *bytes <= MOST_PARAMETERS;
}

static bool take_parameters(const reader *r, const er_json *entry, er_tool *tool)
{
    const er_json *found = er_json_get(entry, "parameters");
    size_t bytes = 0;
    tool->parameters = ER_TEXT("{}");
    if (!found || found->kind == ER_JSON_NULL) return true;
    if (found->kind != ER_JSON_OBJECT) return wrong(r, "has parameters that are no JSON Schema object", tool->name);
    if (!measure(found, 0, &bytes)) return wrong(r, "has parameters that are nested too deep, or more than 65536 bytes", tool->name);
    tool->parameters = found->raw;
    return true;
}

static bool take_care(const reader *r, const er_json *entry, er_tool *tool)
{
    const er_json *risk = er_json_get(entry, "risk"), *confirm = er_json_get(entry, "confirm");
    if (risk && risk->kind != ER_JSON_NULL) {
        if (risk->kind != ER_JSON_NUMBER || !(risk->number >= 0.005 && risk->number <= 0.5))
            return wrong(r, "has a risk that does not lie between 0.005 and 0.5", tool->name);
        tool->risk = risk->number;
    }
    if (confirm && confirm->kind != ER_JSON_BOOLEAN) return wrong(r, "has a \"confirm\" that is neither true nor false", tool->name);
    tool->confirm = confirm && confirm->truth;
    return true;
}

/* A text that stays: where it stands in the file, or a copy. */
static bool keep(const reader *r, er_text line, er_text *text)
{
    if (text->at >= line.at && text->at < line.at + line.length) return true;
    char *copy = ER_TAKE(r->arena, char, text->length);
    if (!copy) return false;
    memcpy(copy, text->at, text->length);
    text->at = copy;
    return true;
}

/* Sentences with single spaces between words and none at the ends. */
static bool take_examples(const reader *r, const er_json *entry, er_text line, er_text name, bool shown, er_tool *tool)
{
    const er_json *list = er_json_get(entry, "examples");
    if (!list) return true;
    if (list->kind != ER_JSON_ARRAY || list->count > MOST_EXAMPLES) return wrong(r, "must have a list of at most 20 examples", name);
    er_text *examples = shown ? ER_TAKE(r->arena, er_text, list->count) : NULL;
    if (shown && !examples) return false;
    for (uint32_t i = 0; i < list->count; i++) {
        er_text said = list->items[i].text;
        bool blank, fine = list->items[i].kind == ER_JSON_TEXT && ends_hold(said, &blank) && er_count_points(said) <= MOST_EXAMPLE, space = false;
        for (size_t k = 0; k < said.length && fine;) {
            const uint32_t point = er_point_at(said, &k);
            const bool white = er_is_space(point);
            fine = !white || (point == ' ' && !space);
            space = white;
        }
        if (!fine) return wrong(r, "has an example that is no sentence on one line of at most 200 characters", name);
        if (!shows(said, false)) return wrong(r, "has an example with an invisible character", name);
        if (!shown) continue;
        if (!keep(r, line, &said)) return false;
        examples[i] = said;
    }
    tool->examples = examples;
    tool->example_count = shown ? list->count : 0;
    return true;
}

/* `wanted` is the index's name of it, NULL for a tool that comes. */
static bool take_tool(const reader *r, er_text line, const er_text *wanted, bool shown, er_tool *tool)
{
    const er_json *entry;
    bool blank;
    if (!er_json_read(r->scratch, line, 64, MOST_CONTAINERS, r->where, &entry)) return false;
    if (entry->kind != ER_JSON_OBJECT) return wrong(r, "stands where a JSON object must", line);
    if (!text_of(r, entry, "name", &tool->name) || !text_of(r, entry, "description", &tool->description)) return false;
    if (wanted && !er_same(tool->name, *wanted)) return wrong(r, "stands where the index has another tool", tool->name);
    const er_text name = wanted ? *wanted : tool->name;
    if (er_is(name, "<start>") || er_is(name, "<end>")) return wrong(r, "is a name that is reserved", name);
    if (!ends_hold(name, &blank) || er_count_points(name) > MOST_NAME)
        return wrong(r, "is no name; one has at most 256 characters and no space at its ends", name);
    if (!shows(name, true)) return wrong(r, "is a name with an invisible character", name);
    if (er_count_points(tool->description) > MOST_DESCRIPTION) return wrong(r, "has a description of more than 16384 characters", name);
    if (!shows(tool->description, false)) return wrong(r, "has a description with an invisible character", name);
    if (!take_parameters(r, entry, tool) || !take_examples(r, entry, line, name, shown, tool) || !take_care(r, entry, tool)) return false;
    tool->name = name;
    tool->definition = entry->raw;
    return (wanted || keep(r, line, &tool->name)) && keep(r, line, &tool->description);
}

/* ---- Lines ---- */

/* What no JSON is, or too much of it, in the words of json.c; only who it was is not a bundle. */
static bool read_given(const reader *r, er_text text)
{
    const er_json *value;
    er_error own = {0}, *before = r->scratch->error;
    const er_place place = er_mark(r->scratch);
    r->scratch->error = &own;
    const bool fine = er_json_read(r->scratch, text, 64, MOST_CONTAINERS, r->where, &value);
    er_release(r->scratch, place);
    r->scratch->error = before;
    if (fine) return true;
    if (own.status == ER_NO_MEMORY) return er_refuse(before, ER_NO_MEMORY, "%s", own.text);
    char *end = strstr(own.text, "; build the bundle");
    if (end) *end = 0;
    return er_refuse(before, r->status, "%s; %s", own.text, r->remedy);
}

bool er_tool_given(er_arena *arena, er_arena *scratch, er_text definition, const char *where, er_tool *tool)
{
    const reader r = {arena, scratch, where, "mend its definition", ER_BAD_INPUT};
    *tool = (er_tool){.given = true};
    const er_place place = er_mark(scratch);
    const bool fine = read_given(&r, definition) && take_tool(&r, definition, NULL, true, tool);
    er_release(scratch, place);
    return fine;
}

static bool take_lines(const reader *r, er_text file, const er_text *names, uint32_t count, const er_index *index, er_tool *tools,
    er_described *described)
{
    const char *at = file.at + 2, *end = file.at + file.length;
    for (uint32_t i = 0; i < count; i++) {
        const char *next = memchr(at, '\n', (size_t)(end - at)); /* there are as many as were counted */
        const bool last = i + 1 == count;
        if (!last && (next == at || next[-1] != ',')) return wrong(r, "has no comma at the end of its line", names[i]);
        const er_text line = {at, (size_t)(next - at) - !last};
        const bool shown = index->example_count && index->example_starts[i + 1] > index->example_starts[i];
        const er_place place = er_mark(r->scratch);
        if (!take_tool(r, line, &names[i], shown, &tools[i])) return false;
        er_release(r->scratch, place);
        described[i] = er_described_of(&tools[i]);
        at = next + 1;
    }
    return true;
}

bool er_tools_part(const er_part *part, const er_text *names, uint32_t count, const er_index *index, const er_tool **tools,
    const er_described **described)
{
    er_arena scratch = {.error = part->arena->error};
    const reader r = {part->arena, &scratch, er_where(part, "tools"), "build the bundle again", ER_BAD_BUNDLE};
    er_text file;
    if (!r.where || !er_part_file(part, "tools", &file)) return false;
    const bool framed = file.length >= 5 && !memcmp(file.at, "[\n", 2) && !memcmp(file.at + file.length - 3, "\n]\n", 3);
    if (!framed) return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: expected an array with a line for every tool; build the bundle again", r.where);
    size_t lines = 0;
    for (size_t i = 0; i < file.length; i++) lines += file.at[i] == '\n';
    if (lines - 2 != count || count > MOST_TOOLS)
        return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: %zu lines for the %u tools of the index, at most %d; build the bundle again",
                         r.where, lines - 2, count, MOST_TOOLS);
    er_tool *found = ER_TAKE(part->arena, er_tool, count);
    er_described *words = ER_TAKE(part->arena, er_described, count);
    if (!found || !words) return false;
    if (!er_take(&scratch, 1, 1)) return false; /* a block to go back to */
    *tools = found;
    *described = words;
    const bool fine = take_lines(&r, file, names, count, index, found, words);
    er_give_back(&scratch);
    return fine;
}
