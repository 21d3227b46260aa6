/* What is known of a tool when the arguments of its call are read, whatever the request: its parameters, what it gives, and
   what the head makes of it. Made once for a tool that is asked about. */

#include "arguments.h"
#include "encode.h"
#include "regex.h"
#include "sha256.h"
#include "unicode.h"
#include "words.h"

enum { MOST_NESTED = 64, MOST_CONTAINERS = 1 << 16 };

bool er_parameters_of(er_arena *, const er_json *schema, bool finds, const er_parameter **, uint32_t *count);

static const char *const finders = "detect fetch find get identifi list locat look lookup queri read retriev return search show view";
static const char *const checkers = "check confirm validat verifi";
static const char *const makers = "add convert creat generat hash mak new open register start upload";
static const char *const others = "activat deactivat disabl enabl set switch toggl turn calculat cancel chang clos delet edit modifi mov post remov send updat";
static const char *const idle = "all api by current currentli default desir given local my nearest new own specific system target tool user with";

static bool is_verb(er_text word)
{
    return er_listed_in(word, finders) || er_listed_in(word, checkers) || er_listed_in(word, makers) || er_listed_in(word, others);
}

static bool list_words(er_arena *arena, er_text text, const er_word **words, uint32_t *count)
{
    er_points points;
    return er_points_of(arena, text, &points) && er_words_of(arena, &points, words, count);
}

/* Where the words of a name end that it is about: in front of a small word behind which stands what a tool takes. */
static er_text in_front(er_text spelt)
{
    for (size_t begin = 0, i = 0; i <= spelt.length; i++) {
        if (i < spelt.length && spelt.at[i] != ' ') continue;
        if (begin && i > begin && er_listed_in(er_cut(spelt, begin, i), "by for from with in on at of using")) return er_cut(spelt, 0, begin);
        begin = i + 1;
    }
    return spelt;
}

static bool is_number(er_text word)
{
    for (size_t i = 0; i < word.length;)
        if (!er_is_decimal(er_point_at(word, &i))) return false;
    return word.length != 0;
}

static bool about_of(er_arena *arena, er_text spelt, er_text description, er_taking *to)
{
    er_text low;
    const er_word *words;
    uint32_t count, begin = 0, end, verb = UINT32_MAX;
    if (!er_lowered(arena, spelt, &low)) return false;
    for (size_t i = low.length; i > 0; i--)
        if (low.at[i - 1] == ':') {
            low = er_cut(low, i, low.length);
            break;
        }
    if (!list_words(arena, in_front(low), &words, &count)) return false;
    end = count;
    for (uint32_t i = 0; i < count && verb == UINT32_MAX; i++)
        if (is_verb(words[i].stem)) verb = i;
    if (verb == UINT32_MAX) {
        er_text first;
        if (!er_first_word(arena, description, &first)) return false;
        to->finds = er_listed_in(first, finders);
    } else {
        to->finds = er_listed_in(words[verb].stem, finders) || er_listed_in(words[verb].stem, makers);
        if (verb + 1 < count) begin = verb + 1;
        else end = verb; /* names may end with their verb: `train_ticket_query` */
    }
    er_text *about = ER_TAKE(arena, er_text, count + 1);
    if (!about) return false;
    for (int pass = 0; pass < 2 && !to->about.count; pass++)
        for (uint32_t i = begin; i < end; i++)
            if ((pass || (!er_listed_in(words[i].stem, idle) && !is_number(words[i].stem))) && !er_has((er_words){about, to->about.count}, words[i].stem))
                about[to->about.count++] = words[i].stem;
    to->about.words = about;
    return true;
}

static bool returns_of(er_arena *arena, er_text description, er_taking *to)
{
    er_points points;
    er_span span;
    const er_word *words;
    const er_regex *of = er_regex_of(arena, ER_TEXT("\\breturns?\\b"), ER_REGEX_CASELESS);
    if (!of || !er_points_of(arena, description, &points)) return false;
    if (!er_regex_search(of, &points, 0, &span, NULL)) return true;
    uint32_t end = span.end;
    while (end < points.count && !(points.points[end] == '.' && (end + 1 == points.count || er_is_space(points.points[end + 1])))) end++;
    if (!list_words(arena, er_cut(description, points.starts[span.end], points.starts[end]), &words, &to->return_count)) return false;
    er_text *made = ER_TAKE(arena, er_text, to->return_count + 1);
    for (uint32_t i = 0; made && i < to->return_count; i++) made[i] = words[i].stem;
    to->returns = made;
    return made != NULL;
}

static bool both_words(er_arena *arena, er_words a, er_text description, er_words *found)
{
    er_words b;
    if (!er_words_in(arena, description, &b)) return false;
    er_text *made = ER_TAKE(arena, er_text, a.count + b.count + 1);
    if (!made) return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < a.count + b.count; i++) {
        const er_text word = i < a.count ? a.words[i] : b.words[i - a.count];
        if (!er_has((er_words){made, n}, word)) made[n++] = word;
    }
    *found = (er_words){made, n};
    return true;
}

/* ---- What the head is told ---- */

static void features_of(const er_parameter *one, float *row)
{
    row[one->kind] = 1.0f;
    row += ER_KIND_NESTED;
    row[0] = one->many;
    row[1] = one->required;
    row[2] = er_json_get(one->whole, "default") != NULL;
    row[3] = one->described.length != 0;
    row[4] = one->part == 'd';
    row[5] = one->part == 't';
    row[6] = one->has_unit;
    row[7] = one->shapes.count != 0;
    const er_json *format = er_json_get(one->schema, "format");
    row[8] = format && (format->kind == ER_JSON_TEXT ? format->text.length != 0 : format->kind != ER_JSON_NULL);
}

/* A text's vector: as the bundle has it, or encoded now. */
static bool vector_of(er_arena *scratch, const er_model *model, er_text text, float *vector)
{
    const er_stored_arguments *stored = model->arguments;
    const uint32_t d = stored->dimension;
    er_sha256 hash;
    uint8_t digest[32];
    uint64_t bits = 0;
    er_sha256_begin(&hash);
    er_sha256_add(&hash, text.at, text.length);
    er_sha256_end(&hash, digest);
    for (int i = 0; i < 8; i++) bits |= (uint64_t)digest[i] << (8 * i);
    const int64_t key = (int64_t)bits;
    uint32_t low = 0, high = stored->texts;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (stored->keys[middle] < key) low = middle + 1;
        else high = middle;
    }
    if (low < stored->texts && stored->keys[low] == key) {
        for (uint32_t i = 0; i < d; i++) vector[i] = (float)stored->rows[(size_t)low * d + i] * stored->scales[low];
        return true;
    }
    const er_place place = er_mark(scratch);
    er_points points;
    er_encoded encoded;
    const bool fine = er_points_of(scratch, text, &points) && er_encode_tool(scratch, model, &model->full, &points, &encoded);
    if (fine) memcpy(vector, encoded.vector, d * sizeof *vector);
    er_release(scratch, place);
    return fine;
}

static bool joined(er_arena *arena, er_text name, er_text described, bool always, er_text *found)
{
    er_text words;
    if (!er_name_in_words(arena, name, &words)) return false;
    char *made = ER_TAKE(arena, char, words.length + described.length + 3);
    if (!made) return false;
    if (words.length) memcpy(made, words.at, words.length);
    *found = (er_text){made, words.length};
    if (!described.length && !always) return true;
    memcpy(made + words.length, ": ", 2);
    if (described.length) memcpy(made + words.length + 2, described.at, described.length);
    found->length += 2 + described.length;
    return true;
}

static bool point_it(er_arena *arena, er_arena *scratch, const er_model *model, er_taking *to)
{
    const uint32_t d = model->arguments->dimension;
    uint32_t *asked = ER_TAKE(arena, uint32_t, ER_MOST_WANTED);
    int64_t *counts = ER_TAKE(arena, int64_t, ER_MOST_WANTED), *boolean = ER_TAKE(arena, int64_t, ER_MOST_WANTED);
    if (!asked || !counts || !boolean) return false;
    uint32_t n = 0, options = 0;
    for (uint32_t i = 0; i < to->count && n < ER_MOST_WANTED; i++) {
        if (to->parameters[i].kind == ER_KIND_NESTED) continue;
        counts[n] = to->parameters[i].option_count;
        boolean[n] = to->parameters[i].kind == ER_KIND_BOOLEAN;
        options += to->parameters[i].option_count;
        asked[n++] = i;
    }
    to->asked = asked;
    to->pointed = (er_pointed){.counts = counts, .boolean = boolean, .count = n, .options = options};
    if (!n) return true;
    float *texts = ER_TAKE(scratch, float, (size_t)(1 + n + options) * d), *features = ER_TAKE(scratch, float, n * ER_ARG_PARAMETER_FEATURES);
    er_text text;
    if (!texts || !features || !joined(scratch, to->tool->name, to->tool->description, true, &text) || !vector_of(scratch, model, text, texts)) return false;
    float *option = texts + (size_t)(1 + n) * d;
    for (uint32_t i = 0; i < n; i++) {
        const er_parameter *one = &to->parameters[asked[i]];
        features_of(one, features + i * ER_ARG_PARAMETER_FEATURES);
        if (!joined(scratch, one->name, one->described, false, &text) || !vector_of(scratch, model, text, texts + (size_t)(1 + i) * d)) return false;
        for (uint32_t k = 0; k < one->option_count; k++, option += d)
            if (!vector_of(scratch, model, one->option_texts[k], option)) return false;
    }
    return er_pointer_ask(arena, model->arguments->head, texts, features, &to->pointed);
}

/* ---- The whole ---- */

static bool is_camel(er_text name)
{
    for (size_t i = 1; i < name.length; i++)
        if (name.at[i - 1] >= 'a' && name.at[i - 1] <= 'z' && name.at[i] >= 'A' && name.at[i] <= 'Z') return true;
    return false;
}

bool er_taking_of(er_arena *scratch, const er_model *model, const er_tool *tool, er_taking *to)
{
    static const char *const apart = "$schema $id $defs definitions $comment type title description properties required additionalProperties "
                                     "examples default deprecated minProperties maxProperties";
    er_arena *arena = &to->arena;
    er_text spelt;
    er_words spelt_words;
    to->tool = tool;
    if (!er_json_read(arena, tool->parameters.length ? tool->parameters : ER_TEXT("{}"), MOST_NESTED, MOST_CONTAINERS, "a tool", &to->schema) ||
        !er_name_in_words(arena, tool->name, &spelt) || !er_words_in(arena, spelt, &spelt_words) || !about_of(arena, spelt, tool->description, to) ||
        !returns_of(arena, tool->description, to) || !both_words(arena, spelt_words, tool->description, &to->text))
        return false;
    to->name = to->spelt = spelt_words;
    bool finds = false;
    for (uint32_t i = 0; i < spelt_words.count; i++) finds |= er_listed_in(spelt_words.words[i], finders);
    if (!er_parameters_of(arena, to->schema, finds, &to->parameters, &to->count)) return false;
    to->wanted = to->count < ER_MOST_WANTED ? to->count : ER_MOST_WANTED;
    to->apart = to->schema->kind == ER_JSON_OBJECT;
    for (uint32_t i = 0; to->apart && i < to->schema->count; i++) to->apart = er_listed_in(to->schema->keys[i], apart);
    const double count = to->count ? to->count : 1;
    for (uint32_t i = 0; i < to->count; i++) {
        to->needed += to->parameters[i].required;
        to->described += log((double)er_length_of(to->parameters[i].described) + 1.0);
    }
    to->needed /= count;
    to->described = to->described / count - 3.5;
    to->camel = is_camel(tool->name);
    return !model->arguments || !model->has_full || point_it(arena, scratch, model, to);
}
