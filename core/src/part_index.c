/* Sections 5.1, 5.2, 6 and 6.2: tables of tokens and of pieces of words, the index, the words of tools. */

#include "distinct.h"
#include "parts.h"
#include "utf8.h"
#include "vectors.h"

enum { MOST_EXAMPLES = 20, MOST_FORM = 16384 };

bool er_table_part(const er_part *part, const er_spec *spec, uint32_t ids, const er_table **found)
{
    er_fields map;
    er_array rows;
    if (!er_part_map(part, "table", &map)) return false;
    if (spec->query_prefix.length || spec->tool_prefix.length) return er_field_refuse(&map, "a table of token vectors takes no prefixes");
    if (!er_field_array(&map, "rows", "|i1", ER_ANY, spec->dimension, &rows)) return false;
    er_table *table = ER_TAKE(part->arena, er_table, 1);
    if (!table || !er_field_scales(&map, "scales", rows.rows, &table->scales)) return false;
    if (rows.rows != ids)
        return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: %u token vectors for %u tokens; build the bundle again", map.where, rows.rows, ids);
    table->rows = rows.at;
    table->tokens = rows.rows;
    *found = table;
    return true;
}

bool er_word_vectors_part(const er_part *part, uint32_t ids, er_word_vectors *found)
{
    er_fields map;
    er_array pairs;
    if (!er_part_map(part, "word-vectors", &map)) return false;
    const er_pack *tokenizer = er_pack_get(map.map, "tokenizer");
    const er_entry *entry = er_part_entry(part, "tokenizer");
    if (!entry || !tokenizer || tokenizer->kind != ER_PACK_TEXT || !er_same(er_pack_text(tokenizer), entry->sha256))
        return er_field_refuse(&map, "made for another tokenizer than the bundle's");
    if (!er_field_array(&map, "pairs", "|i1", ER_ANY, 32, &pairs) || !er_field_scales(&map, "scales", pairs.rows, &found->scales)) return false;
    if (pairs.rows != ids)
        return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: %u vectors for a tokenizer with %u pieces of words; build the bundle again",
                         map.where, pairs.rows, ids);
    found->pairs = pairs.at;
    found->pieces = pairs.rows;
    return true;
}

/* Rows of bytes as floats; of length 1 after that, which they nearly are. */
static float *widened(const er_fields *map, const int8_t *rows, const float *scales, uint32_t count, uint32_t dimension)
{
    float *wide = ER_TAKE(map->arena, float, (size_t)count * dimension);
    if (!wide) return NULL;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < dimension; k++) wide[(size_t)i * dimension + k] = (float)rows[(size_t)i * dimension + k] * scales[i];
    if (!er_units(wide, count, dimension)) return er_field_refuse(map, "its vectors are not of length 1"), NULL;
    for (uint32_t i = 0; i < count; i++) er_unit(wide + (size_t)i * dimension, dimension, 1e-12);
    return wide;
}

/* How many examples have the same vector (16.5): each counts ln(c) / 10 less. */
bool er_twins_of(er_arena *arena, er_index *index, uint32_t dimension)
{
    er_text *rows = ER_TAKE(arena, er_text, index->example_count);
    float *found = ER_TAKE(arena, float, index->example_count);
    uint32_t *counts = ER_TAKE(arena, uint32_t, index->example_count);
    er_places places;
    int64_t alike;
    if (!rows || !found || !counts) return false;
    const char *first = index->wide_examples ? (const char *)index->wide_examples : (const char *)index->examples;
    const size_t size = index->wide_examples ? dimension * sizeof(float) : dimension;
    for (uint32_t i = 0; i < index->example_count; i++) rows[i] = (er_text){first + i * size, size};
    if (!er_places_of(arena, rows, index->example_count, &places, &alike)) return false;
    index->example_twins = found;
    if (alike < 0) return true;
    for (uint32_t i = 0; i < index->example_count; i++) counts[er_place_of(&places, rows[i])]++;
    for (uint32_t i = 0; i < index->example_count; i++) found[i] = (float)(log(counts[er_place_of(&places, rows[i])]) / 10.0);
    return true;
}

static bool take_examples(const er_fields *map, uint32_t tools, uint32_t dimension, er_index *index)
{
    if (!er_pack_get(map->map, "examples")) return true;
    er_array counts, rows;
    if (!er_field_array(map, "example_counts", "<i4", tools, 0, &counts)) return false;
    uint32_t *starts = ER_TAKE(map->arena, uint32_t, (size_t)tools + 1);
    if (!starts) return false;
    for (uint32_t i = 0; i < tools; i++) {
        const int32_t count = ((const int32_t *)counts.at)[i];
        if (count < 0 || count > MOST_EXAMPLES) return er_field_refuse(map, "tools have from 0 to 20 examples");
        starts[i + 1] = starts[i] + (uint32_t)count;
    }
    const uint32_t n = starts[tools];
    const float *scales;
    if (!er_field_array(map, "examples", "|i1", n, dimension, &rows) || !er_field_scales(map, "example_scales", n, &scales)) return false;
    if (!n) return true;
    /* What makes each a unit vector, in the place of what makes it nearly one. */
    float *lengths = ER_TAKE(map->arena, float, n);
    if (!lengths) return false;
    for (uint32_t i = 0; i < n; i++) {
        const int8_t *row = (const int8_t *)rows.at + (size_t)i * dimension;
        double square = 0.0;
        for (uint32_t k = 0; k < dimension; k++) square += (double)(row[k] * row[k]);
        square *= (double)scales[i] * (double)scales[i];
        if (!(fabs(square - 1.0) <= 0.01001)) return er_field_refuse(map, "the vectors of its examples are not of length 1");
        lengths[i] = (float)((double)scales[i] / sqrt(square));
    }
    index->examples = rows.at;
    index->example_scales = lengths;
    index->example_starts = starts;
    index->example_count = n;
    return er_twins_of(map->arena, index, dimension);
}

bool er_index_part(const er_part *part, const er_spec *spec, er_index *index, const er_text **names, uint32_t *tools)
{
    er_fields map;
    er_array vectors;
    int64_t alike;
    if (!er_owned_map(part, "index", &map) || !er_field_texts(&map, "names", names, tools)) return false;
    if (!er_first_alike(part->arena, *names, *tools, &alike)) return false;
    if (!*tools || alike >= 0) return er_field_refuse(&map, "no tools in it, or one of them twice");
    if (er_pack_get(map.map, "scales")) {
        const float *scales;
        if (!er_field_array(&map, "vectors", "|i1", *tools, spec->dimension, &vectors) || !er_field_scales(&map, "scales", *tools, &scales)) return false;
        index->vectors = widened(&map, vectors.at, scales, *tools, spec->dimension);
        if (!index->vectors) return false;
    } else {
        if (!er_field_array(&map, "vectors", "<f4", *tools, spec->dimension, &vectors)) return false;
        index->vectors = vectors.at;
        if (!er_units(index->vectors, *tools, spec->dimension)) return er_field_refuse(&map, "its vectors are not of length 1");
    }
    return take_examples(&map, *tools, spec->dimension, index);
}

bool er_words_part(const er_part *part, uint32_t tools, er_arranged_words *words)
{
    er_fields map;
    er_array starts, numbers;
    uint32_t forms;
    if (!er_part_map(part, "words", &map) || !er_field_texts(&map, "words", &words->words, &words->count) ||
        !er_field_texts(&map, "forms", &words->forms, &forms) || !er_field_array(&map, "starts", "<i4", 3 * (int64_t)tools + 1, 0, &starts) ||
        !er_field_array(&map, "numbers", "<i4", ER_ANY, 0, &numbers))
        return false;
    if (forms != words->count) return er_field_refuse(&map, "another number of forms than of words");
    for (uint32_t i = 0; i < words->count; i++) {
        const er_text word = words->words[i], before = i ? words->words[i - 1] : word;
        const size_t shared = word.length < before.length ? word.length : before.length;
        const int order = memcmp(before.at, word.at, shared); /* code points rise as their UTF-8 does */
        if (i && !(order < 0 || (!order && before.length < word.length)))
            return er_field_refuse(&map, "its words are not in order, or one of them stands there twice");
        if (words->forms[i].length > MOST_FORM && er_count_points(words->forms[i]) > MOST_FORM) return er_field_refuse(&map, "a form of more than 16384 characters");
    }
    if (!er_spans_hold(starts.at, starts.rows, numbers.rows, false)) return er_field_refuse(&map, "its starts do not go from 0 to its numbers");
    const int32_t *begins = starts.at, *number = numbers.at;
    for (uint32_t i = 0; i + 1 < starts.rows; i++)
        for (int32_t k = begins[i]; k < begins[i + 1]; k++) {
            if (number[k] < 0 || (uint32_t)number[k] >= words->count) return er_field_refuse(&map, "a number of none of its words");
            if (k > begins[i] && number[k] <= number[k - 1]) return er_field_refuse(&map, "a tool's words are not in order, or one of them stands there twice");
        }
    words->starts = starts.at;
    words->numbers = numbers.at;
    return true;
}
