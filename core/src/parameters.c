/* What one tool's parameters take: their kinds, the words by which users lead to them, their units. By names, types, formats
   and descriptions alone. Knows nothing of requests. */

#include "arguments.h"
#include "regex.h"
#include "unicode.h"
#include "words.h"

/* What stands between white space. */
static bool split(er_arena *arena, er_text text, er_words *found)
{
    er_text *made = ER_TAKE(arena, er_text, text.length / 2 + 2);
    uint32_t n = 0;
    if (!made) return false;
    for (size_t i = 0, begin = 0; i <= text.length;) {
        size_t next = i;
        const bool space = i == text.length || er_is_space(er_point_at(text, &next));
        if (space && begin < i) made[n++] = er_cut(text, begin, i);
        if (i == text.length) break;
        i = next;
        if (space) begin = i;
    }
    *found = (er_words){made, n};
    return true;
}

/* Whether an expression is found in a text, whatever its case; in memory of its own that goes again. */
static bool says(er_arena *arena, const char *pattern, er_text text)
{
    const er_place place = er_mark(arena);
    er_points points;
    er_span span;
    const er_regex *of = er_regex_of(arena, (er_text){pattern, strlen(pattern)}, ER_REGEX_CASELESS);
    const bool found = of && er_points_of(arena, text, &points) && er_regex_search(of, &points, 0, &span, NULL);
    er_release(arena, place);
    return found;
}

/* ---- Schemas ---- */

er_text er_schema_text(const er_json *schema, const char *key)
{
    const er_json *found = er_json_get(schema, key);
    return found && found->kind == ER_JSON_TEXT ? found->text : (er_text){"", 0};
}

static bool is_kind(const er_json *value, er_json_kind kind) { return value && value->kind == kind; }
static bool is_null_type(const er_json *schema) { return er_is(er_schema_text(schema, "type"), "null"); }

/* An object with the keys of another one but `without`, and those of `over` in their place. */
static const er_json *merged(er_arena *arena, const er_json *of, const char *without, const er_json *over)
{
    er_json *made = ER_TAKE(arena, er_json, 1), *items = ER_TAKE(arena, er_json, of->count + over->count + 1);
    er_text *keys = ER_TAKE(arena, er_text, of->count + over->count + 1);
    if (!made || !items || !keys) return NULL;
    *made = (er_json){.kind = ER_JSON_OBJECT, .items = items, .keys = keys};
    for (uint32_t pass = 0; pass < 2; pass++) {
        const er_json *from = pass ? over : of;
        for (uint32_t i = 0; i < from->count; i++) {
            if (!pass && er_is(from->keys[i], without)) continue;
            uint32_t at = 0;
            while (at < made->count && !er_same(keys[at], from->keys[i])) at++;
            keys[at] = from->keys[i];
            items[at] = from->items[i];
            made->count += at == made->count;
        }
    }
    return made;
}

const er_json *er_plain_schema(er_arena *arena, const er_json *schema)
{
    static const char *const both[] = {"anyOf", "oneOf"};
    for (int k = 0; k < 2; k++) {
        const er_json *options = er_json_get(schema, both[k]), *kept = NULL;
        uint32_t count = 0;
        if (!is_kind(options, ER_JSON_ARRAY) || er_json_get(schema, "type") || er_json_get(schema, "enum")) continue;
        for (uint32_t i = 0; i < options->count; i++)
            if (options->items[i].kind == ER_JSON_OBJECT && !is_null_type(&options->items[i])) kept = &options->items[i], count++;
        if (count == 1) return merged(arena, schema, both[k], kept);
    }
    const er_json *kinds = er_json_get(schema, "type"), *named = NULL;
    uint32_t count = 0;
    if (!is_kind(kinds, ER_JSON_ARRAY)) return schema;
    for (uint32_t i = 0; i < kinds->count; i++)
        if (!is_kind(&kinds->items[i], ER_JSON_TEXT) || !er_is(kinds->items[i].text, "null")) named = &kinds->items[i], count++;
    if (count != 1) return schema;
    const er_text key = {"type", 4};
    return merged(arena, schema, "", &(er_json){.kind = ER_JSON_OBJECT, .items = named, .keys = &key, .count = 1});
}

/* The one property that an object must have, if it is any text. */
static er_text needed_text(er_arena *arena, const er_json *schema)
{
    const er_json *needed = er_json_get(schema, "required"), *properties = er_json_get(schema, "properties");
    const er_text none = {"", 0};
    if (!is_kind(needed, ER_JSON_ARRAY) || needed->count != 1 || !is_kind(&needed->items[0], ER_JSON_TEXT) || !is_kind(properties, ER_JSON_OBJECT))
        return none;
    for (uint32_t i = 0; i < schema->count; i++)
        if (!er_listed_in(schema->keys[i], "type properties required additionalProperties title description")) return none;
    for (uint32_t i = 0; i < properties->count; i++) {
        if (!er_same(properties->keys[i], needed->items[0].text)) continue;
        const er_json *inner = properties->items[i].kind == ER_JSON_OBJECT ? er_plain_schema(arena, &properties->items[i]) : NULL;
        return inner && er_is(er_schema_text(inner, "type"), "string") && !er_json_get(inner, "enum") ? needed->items[0].text : none;
    }
    return none;
}

/* ---- Kinds ---- */

static const struct {
    er_kind kind;
    const char *names;
} by_name[] = {
    {ER_KIND_EMAIL, "email mail e-mail"},
    {ER_KIND_URL, "url uri link website webpage href"},
    {ER_KIND_PHONE, "phone mobile telephone tel"},
    {ER_KIND_ID, "id ids identifier uuid guid iban bic isbn imei sku barcode"},
    {ER_KIND_COMMAND, "command cmd"},
    {ER_KIND_PATH, "path paths file files filename folder directory"},
    {ER_KIND_DURATION, "duration"},
    {ER_KIND_WHEN, "time date day when start end due deadline until since after before from_date datetime birthday expires"},
    {ER_KIND_TEXT, "text message body content comment note notes reply answer caption sentence"},
    {ER_KIND_PLACE, "place location city town country countries destination origin address street near region area airport station"},
    {ER_KIND_PERSON, "person guest recipient attendee attendees sender author payee owner member user customer artist"},
}, by_told[] = {
    {ER_KIND_EMAIL, "e-?mail address"},
    {ER_KIND_PHONE, "phone number"},
    {ER_KIND_ID, "\\b(?:ids?|identifiers?) (?:of|from)\\b|_id\\b|\\bfrom [\\w.]+[_.-]\\w+"},
    {ER_KIND_WHEN, NULL}, /* is_when */
    {ER_KIND_PLACE, "\\b(?:town|city|place|where|country|region|address)\\b"},
    {ER_KIND_PERSON, "\\b(?:name of the (?:person|guest|payer|recipient)|who|person|first name|full name)\\b"},
}, by_format[] = {
    {ER_KIND_EMAIL, "email idn-email"}, {ER_KIND_URL, "uri iri url uri-reference"}, {ER_KIND_WHEN, "date time date-time"},
    {ER_KIND_DURATION, "duration"},
};

/* A day or a time, and no "day of the month". */
static bool is_when(er_arena *arena, er_text told)
{
    static const char *const days = "\\b(?:day|date|time|when|clock time|first day|last day)\\b";
    static const char *const not_behind = " of the month";
    const er_place place = er_mark(arena);
    er_points points;
    er_span span = {0, 0};
    const er_regex *of = er_regex_of(arena, (er_text){days, strlen(days)}, ER_REGEX_CASELESS);
    bool found = false;
    for (uint32_t from = 0; !found && of && er_points_of(arena, told, &points) && er_regex_search(of, &points, from, &span, NULL); from = span.begin + 1) {
        bool excluded = true;
        for (uint32_t i = 0; not_behind[i] && excluded; i++)
            excluded = span.end + i < points.count && er_lower_of(points.points[span.end + i]) == (uint32_t)not_behind[i];
        found = !excluded;
    }
    er_release(arena, place);
    return found;
}

static er_kind kind_of(er_arena *arena, er_words spelt, const er_json *schema, er_text told)
{
    const er_text type = er_schema_text(schema, "type"), format = er_schema_text(schema, "format");
    if (is_kind(er_json_get(schema, "enum"), ER_JSON_ARRAY)) return ER_KIND_CHOICE;
    if (er_is(type, "boolean")) return ER_KIND_BOOLEAN;
    if (er_is(type, "number") || er_is(type, "integer")) return ER_KIND_NUMBER;
    if (er_is(type, "object") || er_is(type, "array") || er_json_get(schema, "properties")) return ER_KIND_NESTED;
    for (size_t i = 0; i < sizeof by_format / sizeof *by_format; i++)
        if (er_listed_in(format, by_format[i].names)) return by_format[i].kind;
    er_kind named = ER_KIND_ANY, described = ER_KIND_ANY;
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name && named == ER_KIND_ANY; i++)
        for (uint32_t k = 0; k < spelt.count; k++) {
            er_text word = spelt.words[k];
            while (word.length && word.at[word.length - 1] >= '0' && word.at[word.length - 1] <= '9') word.length--;
            if (er_listed_in(word, by_name[i].names)) named = by_name[i].kind;
        }
    if (named == ER_KIND_EMAIL || named == ER_KIND_URL || named == ER_KIND_ID || named == ER_KIND_PHONE) return named;
    for (size_t i = 0; i < sizeof by_told / sizeof *by_told && described == ER_KIND_ANY && told.length; i++)
        if (by_told[i].names ? says(arena, by_told[i].names, told) : is_when(arena, told)) described = by_told[i].kind;
    if (described == ER_KIND_EMAIL || described == ER_KIND_PHONE || described == ER_KIND_ID) return described;
    return named != ER_KIND_ANY ? named : described;
}

static const char *leads_of(er_text word)
{
    static const char *const leads[][2] = {
        {"from origin source sender since start after begin check_in", "from since after"},
        {"to destination target recipient folder receiver", "to into onto for"},
        {"until end till check_out expires valid_until", "until till to through"},
        {"due by before deadline", "by before until for due"},
        {"near place location town city where area region", "in at near around to for of"},
        {"room rooms", "in of"},
        {"title name new_name called", "called named as"},
        {"topic subject about keywords reason what", "about on regarding for of"},
        {"artist author", "by from of"},
        {"language", "into in to"},
        {"time day date when", "on at for from of"},
        {"period week", "for this"},
        {"with attendee attendees guest", "with for to"},
    };
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++)
        if (er_listed_in(word, leads[i][0])) return leads[i][1];
    return NULL;
}

static bool led_of(er_arena *arena, er_words spelt, er_text name, er_words *found)
{
    er_text *made = ER_TAKE(arena, er_text, 8 * (spelt.count + 1));
    uint32_t n = 0;
    if (!made) return false;
    for (uint32_t i = 0; i <= spelt.count; i++)
        for (const char *at = leads_of(i < spelt.count ? spelt.words[i] : name); at && *at;) {
            const char *end = strchr(at, ' ');
            const er_text word = {at, end ? (size_t)(end - at) : strlen(at)};
            if (!er_has((er_words){made, n}, word)) made[n++] = word;
            at = end ? end + 1 : NULL;
        }
    *found = (er_words){made, n};
    return true;
}

/* What a number counts. A `day` or a `year` is one of a calendar, `days` and `years` are many. */
static bool unit_of(er_arena *arena, er_words spelt, er_text told, er_unit_taken *unit)
{
    static const char *const calendar = "second minute hour day week month year min sec", *const each = "a an per each every";
    er_text low, before = {"", 0}; /* "price a night, in euros" counts no nights */
    if (says(arena, "\\b0?\\.\\d+ (?:for|means|is|=) \\d+(?:\\.\\d+)? ?(?:%|percent|per cent)", told)) {
        *unit = (er_unit_taken){ER_PERCENT, {100, 0, ER_PERCENT}};
        return true;
    }
    for (uint32_t i = 0; i < spelt.count; before = spelt.words[i++])
        if (!er_listed_in(before, each) && er_length_of(spelt.words[i]) > 1 && !er_listed_in(spelt.words[i], calendar) &&
            (unit->dimension = er_unit_of(spelt.words[i], &unit->factor)) != ER_NO_UNIT)
            return true;
    if (!er_lowered(arena, told, &low)) return false;
    before = (er_text){"", 0};
    for (size_t i = 0, begin = SIZE_MAX; i <= low.length;) {
        size_t next = i;
        const uint32_t point = i < low.length ? er_point_at(low, &next) : ' ';
        const bool letter = er_is_alnum(point) && er_category_of(point) != ER_ND;
        if (letter && begin == SIZE_MAX) begin = i;
        if (!letter && begin != SIZE_MAX) {
            const er_text word = er_cut(low, begin, i);
            if (!er_listed_in(before, each) && er_length_of(word) > 1 && !er_listed_in(word, calendar) && (unit->dimension = er_unit_of(word, &unit->factor)) != ER_NO_UNIT)
                return true;
            before = word;
            begin = SIZE_MAX;
        }
        if (i == low.length) break;
        i = next;
    }
    return false;
}

/* ---- Shapes of examples ---- */

static bool has_comma(er_text said)
{
    for (size_t i = 0; i + 1 < said.length; i++)
        if (said.at[i] == ',' && said.at[i + 1] == ' ') return true;
    return false;
}

static bool add_shape(er_arena *arena, er_text said, er_words *to, er_text *room)
{
    er_text shape;
    bool letters = true;
    if (!er_shape_of(arena, said, &shape)) return false;
    for (size_t i = 0; i < shape.length;) letters &= er_is_letter(er_point_at(shape, &i));
    if ((letters && shape.length) || (shape.length && memchr(shape.at, ' ', shape.length)) || er_has(*to, shape) || to->count == 64) return true;
    room[to->count++] = shape;
    return true;
}

/* Also whether examples that stand in quotation marks, and there are some, all have parts with ", " between them. */
static bool shapes_of(er_arena *arena, const er_json *schema, er_text told, er_words *found, bool *parted)
{
    enum { MOST_EXAMPLES = 8 };
    static const char *const patterns[] = {"[\"“'`]([^\"”'`]{2,40})[\"”'`]", "(?:such as|example|e\\.g\\.|like) ([\\w./#:@-]*\\d[\\w./#:@-]*\\w)"};
    const er_json *listed = er_json_get(schema, "examples");
    er_text *room = ER_TAKE(arena, er_text, 64);
    er_points points;
    uint32_t shown = 0, whole_ones = 0;
    if (!room || !er_points_of(arena, told, &points)) return false;
    *found = (er_words){room, 0};
    for (uint32_t i = 0; is_kind(listed, ER_JSON_ARRAY) && i < listed->count && i < MOST_EXAMPLES; i++)
        if (listed->items[i].kind == ER_JSON_TEXT && !add_shape(arena, listed->items[i].text, found, room)) return false;
    for (int k = 0; k < 2; k++) {
        const er_regex *of = er_regex_of(arena, (er_text){patterns[k], strlen(patterns[k])}, 0);
        er_span whole, group;
        if (!of) return false;
        for (uint32_t from = 0; er_regex_search(of, &points, from, &whole, &group); from = whole.end) {
            const er_text said = er_cut(told, points.starts[group.begin], points.starts[group.end]);
            if (!add_shape(arena, said, found, room)) return false;
            shown += k == 0;
            whole_ones += k == 0 && !has_comma(said);
        }
    }
    *parted = shown && !whole_ones;
    return true;
}

/* ---- A parameter ---- */

static const char *const formed = "[YMD]{2,4}[-/.][MD]{2}[-/.][YD]{2,4}(?:[T ]HH:MM)?|HH:MM";

static bool part_of(er_arena *arena, const er_parameter *one, char *part, bool *is_formed)
{
    const er_text format = er_schema_text(one->schema, "format");
    er_points points;
    er_span span;
    *part = 0;
    *is_formed = format.length != 0;
    if (one->kind != ER_KIND_WHEN) return true;
    const er_regex *of = er_regex_of(arena, (er_text){formed, strlen(formed)}, ER_REGEX_CASELESS);
    if (!of || !er_points_of(arena, one->described, &points)) return false;
    const bool shown = er_regex_search(of, &points, 0, &span, NULL);
    *is_formed |= shown;
    if (er_is(format, "date-time")) return true;
    if (format.length || shown) {
        bool day = er_is(format, "date"), time = er_is(format, "time");
        for (uint32_t i = span.begin; !format.length && i + 1 < span.end; i++) {
            const uint32_t a = er_lower_of(points.points[i]), b = er_lower_of(points.points[i + 1]);
            day |= a == 'd' && b == 'd';
            time |= a == 'h' && b == 'h';
        }
        *part = day && time ? 0 : day ? 'd' : 't';
        return true;
    }
    for (uint32_t i = 0; i < one->spelt.count && !*part; i++)
        if (er_listed_in(one->spelt.words[i], "day date birthday")) *part = 'd';
    for (uint32_t i = 0; i < one->spelt.count && !*part; i++)
        if (er_listed_in(one->spelt.words[i], "time hour clock")) *part = 't';
    return true;
}

static bool options_of(er_arena *arena, er_parameter *one)
{
    const er_json *listed = er_json_get(one->schema, "enum");
    const bool boolean = one->kind == ER_KIND_BOOLEAN;
    if (!boolean && (one->kind != ER_KIND_CHOICE || !is_kind(listed, ER_JSON_ARRAY) || listed->count > ER_MOST_OPTIONS)) return true;
    const uint32_t count = boolean ? 2 : listed->count;
    const er_json **options = ER_TAKE(arena, const er_json *, count + 1);
    er_text *texts = ER_TAKE(arena, er_text, count + 1);
    if (!options || !texts) return false;
    for (uint32_t i = 0; i < count; i++) {
        options[i] = boolean ? (i ? &er_json_false : &er_json_true) : &listed->items[i];
        if (!er_option_text(arena, one, options[i], &texts[i])) return false;
    }
    one->options = options;
    one->option_texts = texts;
    one->option_count = count;
    return true;
}

bool er_option_text(er_arena *arena, const er_parameter *one, const er_json *value, er_text *found)
{
    if (value->kind == ER_JSON_TEXT) return er_name_in_words(arena, value->text, found);
    if (value->kind != ER_JSON_BOOLEAN) return er_json_shown(arena, value, found);
    er_text name;
    if (!er_name_in_words(arena, one->name, &name)) return false;
    *found = name;
    if (value->truth) return true;
    char *made = ER_TAKE(arena, char, name.length + 5);
    if (!made) return false;
    memcpy(made, "not ", 4);
    if (name.length) memcpy(made + 4, name.at, name.length);
    *found = (er_text){made, name.length + 4};
    return true;
}

bool er_forms_of(er_arena *, er_parameter *);

static bool parameter_of(er_arena *arena, er_text name, const er_json *whole, bool required, bool finds, er_parameter *one)
{
    static const er_json nothing = {.kind = ER_JSON_OBJECT};
    const er_json *schema = er_plain_schema(arena, whole);
    if (!schema) return false;
    const bool many = er_is(er_schema_text(schema, "type"), "array");
    const er_json *inner = many ? er_json_get(schema, "items") : schema, *item = &nothing;
    if (is_kind(inner, ER_JSON_OBJECT) && !(item = er_plain_schema(arena, inner))) return false;
    const er_text inside = many ? needed_text(arena, item) : (er_text){"", 0};
    if (inside.length) {
        const er_json *told = er_json_get(item, "description"), *properties = er_json_get(item, "properties"), *own = NULL;
        static const er_json null = {.kind = ER_JSON_NULL};
        for (uint32_t i = 0; i < properties->count; i++)
            if (er_same(properties->keys[i], inside)) own = er_plain_schema(arena, &properties->items[i]);
        const er_text key = {"description", 11};
        const er_json first = {.kind = ER_JSON_OBJECT, .items = told ? told : &null, .keys = &key, .count = 1};
        if (!own || !(item = merged(arena, &first, "", own))) return false;
    }
    const er_text both[] = {er_schema_text(whole, "description"), many ? er_schema_text(item, "description") : (er_text){"", 0}};
    const bool second = many && is_kind(er_json_get(item, "description"), ER_JSON_TEXT), first = is_kind(er_json_get(whole, "description"), ER_JSON_TEXT);
    char *told = ER_TAKE(arena, char, both[0].length + both[1].length + 2);
    if (!told) return false;
    size_t n = 0;
    if (first) memcpy(told, both[0].at, both[0].length), n = both[0].length;
    if (first && second) told[n++] = ' ';
    if (second) memcpy(told + n, both[1].at, both[1].length), n += both[1].length;
    *one = (er_parameter){.name = name, .described = {told, n}, .inside = inside, .schema = item, .whole = whole, .required = required, .many = many};
    er_text in_words, low, name_low;
    if (!er_name_in_words(arena, name, &in_words) || !er_lowered(arena, in_words, &low) || !er_lowered(arena, name, &name_low) || !split(arena, low, &one->spelt) ||
        !er_words_in(arena, low, &one->stems) || !er_words_in(arena, one->described, &one->told) || !led_of(arena, one->spelt, name_low, &one->led) ||
        !shapes_of(arena, item, one->described, &one->shapes, &one->parted))
        return false;
    const er_words spelt = one->spelt;
    one->kind = kind_of(arena, spelt, item, one->described);
    /* Who looks something up by words may do so by any of several kinds: "name, e-mail or number". */
    if (finds && (one->kind == ER_KIND_EMAIL || one->kind == ER_KIND_PHONE) && !er_schema_text(item, "format").length) {
        bool own = false;
        for (uint32_t i = 0; i < spelt.count; i++) own |= er_listed_in(spelt.words[i], "email mail phone mobile");
        if (!own && says(arena, ",|\\bor\\b", one->described)) one->kind = ER_KIND_ANY;
    }
    if (finds && one->kind == ER_KIND_TEXT) one->kind = ER_KIND_ANY;
    one->has_unit = one->kind == ER_KIND_NUMBER && unit_of(arena, spelt, one->described, &one->unit);
    return er_forms_of(arena, one) && options_of(arena, one) && !(arena->error && arena->error->status);
}

/* Whether both a day and a time are told apart among some parameters, or one's own form says which it is. */
static bool part_them(er_arena *arena, er_parameter *all, uint32_t count)
{
    char *parts = ER_TAKE(arena, char, count + 1);
    bool *is_formed = ER_TAKE(arena, bool, count + 1), day = false, time = false;
    if (!parts || !is_formed) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!part_of(arena, &all[i], &parts[i], &is_formed[i])) return false;
        day |= parts[i] == 'd';
        time |= parts[i] == 't';
    }
    for (uint32_t i = 0; i < count; i++)
        if (is_formed[i] || (day && time)) all[i].part = parts[i];
    return true;
}

bool er_parameters_of(er_arena *arena, const er_json *schema, bool finds, const er_parameter **found, uint32_t *count)
{
    const er_json *properties = er_json_get(schema, "properties"), *required = er_json_get(schema, "required");
    *count = 0;
    if (!is_kind(properties, ER_JSON_OBJECT)) return true;
    uint32_t n = 0, listed = 0;
    er_parameter *all = ER_TAKE(arena, er_parameter, properties->count < ER_MOST_PARAMETERS ? properties->count + 1 : ER_MOST_PARAMETERS);
    if (!all) return false;
    for (int pass = 0; pass < 2; pass++) /* those that a call must have come first */
        for (uint32_t i = 0; i < properties->count; i++) {
            bool needed = false;
            for (uint32_t k = 0; is_kind(required, ER_JSON_ARRAY) && k < required->count; k++)
                needed |= required->items[k].kind == ER_JSON_TEXT && er_same(required->items[k].text, properties->keys[i]);
            if (needed == (pass != 0) || listed++ >= ER_MOST_PARAMETERS || properties->items[i].kind != ER_JSON_OBJECT) continue;
            if (!parameter_of(arena, properties->keys[i], &properties->items[i], needed, finds, &all[n++])) return false;
        }
    *found = all;
    *count = n;
    return part_them(arena, all, n);
}
