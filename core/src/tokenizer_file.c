/* tokenizer.json, read strictly (section 5): of its components, these kinds alone, with these fields alone. */

#include "tokenizer_parts.h"

#define REMEDY "build the bundle with a BERT-like tokenizer (docs/FORMAT.md, section 5)"

enum { MOST_COUNT = 1 << 20, MOST_CHARACTERS = 256, MOST_TEMPLATE = 16, MOST_IDS = 8, SPACE_SIGN = 0x2581 };

typedef struct {
    er_arena *arena;
    const char *part; /* what is being read */
} checker;

static bool wrong(const checker *c, const char *key, const char *expected)
{
    return er_refuse(c->arena->error, ER_BAD_BUNDLE, "tokenizer: %s: \"%s\" must be %s; " REMEDY, c->part, key, expected);
}

/* ---- Values ---- */

static bool is_kind(const er_json *value, er_json_kind kind) { return value && value->kind == kind; }
static bool is_null(const er_json *value) { return !value || value->kind == ER_JSON_NULL; }
static bool says(const er_json *value, const char *text) { return is_kind(value, ER_JSON_TEXT) && er_is(value->text, text); }

static uint32_t characters(er_text text)
{
    uint32_t n = 0;
    for (size_t i = 0; i < text.length; i++) n += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return n;
}

static bool is_text(const er_json *value, uint32_t most) { return is_kind(value, ER_JSON_TEXT) && characters(value->text) <= most; }

static bool is_count(const er_json *value, double least, double most)
{
    return is_kind(value, ER_JSON_NUMBER) && value->whole && value->number >= least && value->number <= most;
}

static uint32_t count_of(const er_json *value) { return (uint32_t)value->number; }

/* Whether a word is one of a list with a space between two. */
static bool listed(er_text word, const char *list)
{
    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, " ");
        if (length == word.length && !memcmp(at, word.at, length)) return true;
        at += length + (at[length] == ' ');
    }
    return false;
}

static bool one_of(const er_json *value, const char *list) { return is_kind(value, ER_JSON_TEXT) && listed(value->text, list); }

/* Whether an object has all of one list of keys, and no other than these and those of the second. */
static bool has_keys(const checker *c, const er_json *of, const char *needed, const char *optional)
{
    if (!is_kind(of, ER_JSON_OBJECT)) return er_refuse(c->arena->error, ER_BAD_BUNDLE, "tokenizer: %s must be an object; " REMEDY, c->part);
    uint32_t found = 0, wanted = 0;
    for (uint32_t i = 0; i < of->count; i++) {
        const bool here = listed(of->keys[i], needed);
        if (!here && !listed(of->keys[i], optional))
            return er_refuse(c->arena->error, ER_BAD_BUNDLE, "tokenizer: %s has an unknown field %s; " REMEDY, c->part, er_show(of->keys[i]).at);
        found += here;
    }
    for (const char *at = needed; *at; wanted++) {
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    if (found == wanted) return true;
    return er_refuse(c->arena->error, ER_BAD_BUNDLE, "tokenizer: %s lacks a field, it needs %s; " REMEDY, c->part, needed);
}

static bool flag(const checker *c, const er_json *of, const char *key, bool *found)
{
    const er_json *value = er_json_get(of, key);
    if (!is_kind(value, ER_JSON_BOOLEAN)) return wrong(c, key, "true or false");
    *found = value->truth;
    return true;
}

static bool unknown_kind(const checker *c, const er_json *of)
{
    const er_json *type = er_json_get(of, "type");
    return er_refuse(c->arena->error, ER_BAD_BUNDLE, "tokenizer: %s %s is not allowed; " REMEDY, c->part,
                     is_kind(type, ER_JSON_TEXT) ? er_show(type->text).at : "without a type");
}

/* A component, several in a Sequence, or none: as an array. */
static bool steps_of(const checker *c, const er_json *of, const char *key, const er_json **steps, uint32_t *count)
{
    *count = 0;
    if (is_null(of)) return true;
    if (!is_kind(of, ER_JSON_OBJECT)) return unknown_kind(c, of);
    *steps = of;
    *count = 1;
    if (!says(er_json_get(of, "type"), "Sequence")) return true;
    const er_json *list = er_json_get(of, key);
    if (of->count != 2 || !is_kind(list, ER_JSON_ARRAY) || list->count > MOST_STEPS) return wrong(c, key, "an array of at most 8 components");
    *steps = list->items;
    *count = list->count;
    return true;
}

/* ---- Normalisers and pre-tokenizers ---- */

static bool read_normalizer(const checker *c, const er_json *of, bool unigram, er_normalizer *found)
{
    static const struct {
        const char *type;
        er_normalizer_kind kind;
    } plain[] = {{"Lowercase", ER_LOWERCASE}, {"StripAccents", ER_STRIP_ACCENTS}, {"NFC", ER_FORM_NFC},
                 {"NFD", ER_FORM_NFD}, {"NFKC", ER_FORM_NFKC}, {"NFKD", ER_FORM_NFKD}};
    const er_json *type = er_json_get(of, "type");
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (says(type, plain[i].type)) {
            found->kind = plain[i].kind;
            return has_keys(c, of, "type", "");
        }
    if (says(type, "BertNormalizer")) {
        found->kind = ER_BERT_NORMALIZER;
        if (!has_keys(c, of, "type clean_text handle_chinese_chars lowercase strip_accents", "") ||
            !flag(c, of, "clean_text", &found->clean_text) || !flag(c, of, "handle_chinese_chars", &found->chinese) ||
            !flag(c, of, "lowercase", &found->lowercase))
            return false;
        found->accents = found->lowercase; /* where nothing else is said */
        return is_null(er_json_get(of, "strip_accents")) || flag(c, of, "strip_accents", &found->accents);
    }
    if (says(type, "Strip")) {
        found->kind = ER_STRIP;
        return has_keys(c, of, "type strip_left strip_right", "") && flag(c, of, "strip_left", &found->left) &&
               flag(c, of, "strip_right", &found->right);
    }
    if (unigram && says(type, "Precompiled")) {
        const er_json *map = er_json_get(of, "precompiled_charsmap");
        found->kind = ER_PRECOMPILED;
        if (!has_keys(c, of, "type precompiled_charsmap", "")) return false;
        if (!is_kind(map, ER_JSON_TEXT)) return wrong(c, "precompiled_charsmap", "a text");
        return er_charsmap_of(c->arena, map->text, &found->map);
    }
    if (unigram && says(type, "Replace")) {
        const er_json *pattern = er_json_get(of, "pattern"), *content = er_json_get(of, "content");
        found->kind = ER_REPLACE;
        if (!has_keys(c, of, "type pattern content", "")) return false;
        if (!is_kind(pattern, ER_JSON_OBJECT) || pattern->count != 1 || !says(er_json_get(pattern, "Regex"), " {2,}"))
            return wrong(c, "pattern", "{\"Regex\": \" {2,}\"}");
        if (!says(content, " ") && !says(content, "\xe2\x96\x81")) return wrong(c, "content", "a space or U+2581");
        found->content = says(content, " ") ? ' ' : SPACE_SIGN;
        return true;
    }
    return unknown_kind(c, of);
}

static bool read_metaspace(const checker *c, const er_json *of, er_splitter *found)
{
    const er_json *sign = er_json_get(of, "replacement"), *text = er_json_get(of, "str_rep"), *scheme = er_json_get(of, "prepend_scheme");
    bool added = true;
    found->kind = ER_METASPACE;
    found->splits = true;
    if (!has_keys(c, of, "type replacement", "str_rep add_prefix_space prepend_scheme split")) return false;
    if (!says(sign, "\xe2\x96\x81") || (text && !says(text, "\xe2\x96\x81"))) return wrong(c, "replacement", "U+2581");
    if (scheme && !one_of(scheme, "always first never")) return wrong(c, "prepend_scheme", "always, first or never");
    found->prepends = says(scheme, "first") ? ER_FIRST : says(scheme, "never") ? ER_NEVER : ER_ALWAYS;
    if (er_json_get(of, "split") && !flag(c, of, "split", &found->splits)) return false;
    if (er_json_get(of, "add_prefix_space") && !flag(c, of, "add_prefix_space", &added)) return false;
    return added || found->prepends == ER_NEVER || wrong(c, "add_prefix_space", "true where prepend_scheme is not never");
}

static bool read_splitter(const checker *c, const er_json *of, bool unigram, er_splitter *found)
{
    static const char *const behaviours[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    const er_json *type = er_json_get(of, "type"), *behaviour = er_json_get(of, "behavior");
    if (says(type, "BertPreTokenizer") || says(type, "Whitespace") || says(type, "WhitespaceSplit")) {
        found->kind = says(type, "BertPreTokenizer") ? ER_BERT_SPLIT : says(type, "Whitespace") ? ER_WORDS : ER_BLANKS;
        return has_keys(c, of, "type", "");
    }
    if (says(type, "Punctuation")) {
        found->kind = ER_PUNCTUATION;
        if (!has_keys(c, of, "type behavior", "")) return false;
        for (int i = 0; i < 5; i++)
            if (says(behaviour, behaviours[i])) return found->behaviour = (er_behaviour)i, true;
        return wrong(c, "behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
    }
    if (says(type, "Digits")) {
        bool each = false;
        found->kind = ER_DIGITS;
        if (!has_keys(c, of, "type individual_digits", "") || !flag(c, of, "individual_digits", &each)) return false;
        found->behaviour = each ? ER_ISOLATED : ER_CONTIGUOUS;
        return true;
    }
    if (unigram && says(type, "Metaspace")) return read_metaspace(c, of, found);
    return unknown_kind(c, of);
}

/* ---- What stands around a text ---- */

static bool named_id(const checker *c, const er_json *of, const char *key, uint32_t ids, uint32_t *found)
{
    const er_json *value = er_json_get(of, key);
    if (!is_kind(value, ER_JSON_ARRAY) || value->count != 2 || !is_text(&value->items[0], MOST_CHARACTERS) ||
        !is_count(&value->items[1], 0, ids - 1.0))
        return wrong(c, key, "a token and its id, of those that there are");
    *found = count_of(&value->items[1]);
    return true;
}

static bool check_special(const checker *c, const er_json *all, uint32_t ids)
{
    if (!is_kind(all, ER_JSON_OBJECT) || all->count > MOST_TEMPLATE) return wrong(c, "special_tokens", "an object of at most 16");
    for (uint32_t i = 0; i < all->count; i++) {
        const er_json *one = &all->items[i], *name = er_json_get(one, "id"), *numbers = er_json_get(one, "ids"), *texts = er_json_get(one, "tokens");
        if (!has_keys(c, one, "id ids tokens", "")) return false;
        bool fine = is_text(name, MOST_CHARACTERS) && er_same(name->text, all->keys[i]) && is_kind(numbers, ER_JSON_ARRAY) &&
                    is_kind(texts, ER_JSON_ARRAY) && numbers->count && numbers->count <= MOST_IDS && texts->count == numbers->count;
        for (uint32_t k = 0; fine && k < numbers->count; k++)
            fine = is_count(&numbers->items[k], 0, ids - 1.0) && is_text(&texts->items[k], MOST_CHARACTERS);
        if (!fine) return wrong(c, "special_tokens", "names as ids, with as many texts as ids, 1 to 8, of those that there are");
    }
    return true;
}

/* A template's pieces; where `parts` is given, what it puts before and behind sequence A. */
static bool read_template(const checker *c, const er_json *of, const char *key, const er_json *special, er_tokenizer_parts *parts)
{
    const er_json *pieces = er_json_get(of, key);
    if (!is_kind(pieces, ER_JSON_ARRAY) || pieces->count > MOST_TEMPLATE) return wrong(c, key, "an array of at most 16 pieces");
    uint32_t sequences = 0;
    for (uint32_t i = 0; i < pieces->count; i++) {
        const er_json *sequence = er_json_get(&pieces->items[i], "Sequence"), *token = er_json_get(&pieces->items[i], "SpecialToken");
        const er_json *piece = sequence ? sequence : token, *id = er_json_get(piece, "id");
        if (!piece || pieces->items[i].count != 1) return wrong(c, key, "made of Sequence and SpecialToken");
        if (!has_keys(c, piece, "id type_id", "") || !is_count(er_json_get(piece, "type_id"), 0, 255)) return wrong(c, key, "pieces with a type_id");
        if (sequence) {
            if (!one_of(id, "A B") || (parts && (!says(id, "A") || sequences++))) return wrong(c, key, "pieces with sequence A once");
            continue;
        }
        const er_json *found = NULL;
        for (uint32_t k = 0; is_kind(id, ER_JSON_TEXT) && k < special->count; k++)
            if (er_same(special->keys[k], id->text)) found = er_json_get(&special->items[k], "ids");
        if (!found) return wrong(c, key, "made of special tokens that are listed");
        if (!parts) continue;
        for (uint32_t k = 0; k < found->count; k++) {
            if (sequences) parts->behind[parts->behind_count++] = count_of(&found->items[k]);
            else parts->before[parts->before_count++] = count_of(&found->items[k]);
        }
    }
    return !parts || sequences == 1 || wrong(c, key, "pieces with sequence A once");
}

static bool read_ends(const checker *c, const er_json *of, bool unigram, uint32_t ids, er_tokenizer_parts *parts)
{
    if (is_null(of)) return true;
    const er_json *type = er_json_get(of, "type"), *special = er_json_get(of, "special_tokens");
    if (says(type, "BertProcessing") || (unigram && says(type, "RobertaProcessing"))) {
        const bool bert = says(type, "BertProcessing");
        if (!has_keys(c, of, bert ? "type sep cls" : "type sep cls trim_offsets add_prefix_space", "")) return false;
        if (!bert && (!flag(c, of, "trim_offsets", &parts->trims) || !flag(c, of, "add_prefix_space", &parts->trims_first))) return false;
        parts->before_count = parts->behind_count = 1;
        return named_id(c, of, "cls", ids, parts->before) && named_id(c, of, "sep", ids, parts->behind);
    }
    if (!says(type, "TemplateProcessing")) return unknown_kind(c, of);
    return has_keys(c, of, "type single pair special_tokens", "") && check_special(c, special, ids) &&
           read_template(c, of, "single", special, parts) && read_template(c, of, "pair", special, NULL);
}

/* ---- Added tokens ---- */

static bool read_added(const checker *c, const er_json *of, const er_vocabulary *v, uint32_t *ids, er_added_told *found)
{
    const er_json *content = er_json_get(of, "content"), *id = er_json_get(of, "id");
    if (!has_keys(c, of, "id content special single_word lstrip rstrip normalized", "") || !flag(c, of, "special", &found->special) ||
        !flag(c, of, "single_word", &found->single_word) || !flag(c, of, "lstrip", &found->left) ||
        !flag(c, of, "rstrip", &found->right) || !flag(c, of, "normalized", &found->normalized))
        return false;
    if (!is_text(content, MOST_CHARACTERS) || !content->text.length) return wrong(c, "content", "a text of 1 to 256 characters");
    found->content = content->text;
    for (size_t at = 0; at < content->text.length;) {
        const uint32_t point = er_point_at(content->text, &at);
        if (er_is_space(point)) return wrong(c, "content", "without white space");
        if (found->normalized && (point < 0x20 || point > 0x7e)) return wrong(c, "content", "printable ASCII, if it is normalized");
    }
    const uint32_t known = er_find_text(v, content->text);
    found->id = known == ER_MISSING ? *ids : known;
    *ids += known == ER_MISSING;
    if (!is_count(id, 0, MOST_COUNT) || count_of(id) != found->id) return wrong(c, "id", "the vocabulary's, or the next one behind it");
    return true;
}

/* Those that are there twice would have one id: so they are found by their ids, of which there are few. */
static bool all_different(const checker *c, const er_added_told *added, uint32_t count)
{
    uint16_t slots[4 * MOST_ADDED] = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t hash = 2166136261u, slot;
        for (size_t k = 0; k < added[i].content.length; k++) hash = (hash ^ (uint8_t)added[i].content.at[k]) * 16777619u;
        for (slot = hash >> 20; slots[slot]; slot = (slot + 1) % (4 * MOST_ADDED))
            if (er_same(added[slots[slot] - 1].content, added[i].content)) return wrong(c, "content", "there once");
        slots[slot] = (uint16_t)(i + 1);
    }
    return true;
}

/* ---- All of it ---- */

static bool read_model(checker *c, const er_json *of, er_text vocabulary, uint32_t texts, er_tokenizer_parts *parts)
{
    const er_json *type = er_json_get(of, "type"), *unknown = er_json_get(of, "unk_token");
    c->part = "model";
    if (says(type, "Unigram")) {
        const er_json *number = er_json_get(of, "unk_id"), *bytes = er_json_get(of, "byte_fallback");
        parts->kind = ER_UNIGRAM;
        if (!has_keys(c, of, "type unk_id vocab", "byte_fallback")) return false;
        if (bytes && (bytes->kind != ER_JSON_BOOLEAN || bytes->truth)) return wrong(c, "byte_fallback", "false");
        if (!er_vocabulary_of(c->arena, vocabulary, texts, true, &parts->vocabulary)) return false;
        if (!is_count(number, 0, parts->vocabulary.count - 1.0)) return wrong(c, "unk_id", "the place of a piece");
        parts->unknown = count_of(number);
        double least = parts->vocabulary.scores[0];
        for (uint32_t i = 1; i < parts->vocabulary.count; i++)
            least = parts->vocabulary.scores[i] < least ? parts->vocabulary.scores[i] : least;
        parts->unknown_score = least - 10.0;
        return true;
    }
    if (says(type, "WordPiece")) {
        const er_json *prefix = er_json_get(of, "continuing_subword_prefix"), *longest = er_json_get(of, "max_input_chars_per_word");
        parts->kind = ER_WORD_PIECE;
        if (!has_keys(c, of, "type unk_token continuing_subword_prefix max_input_chars_per_word vocab", "")) return false;
        if (!is_text(prefix, LONGEST_PREFIX)) return wrong(c, "continuing_subword_prefix", "a text of at most 16 characters");
        if (!is_count(longest, 1, LONGEST_WORD)) return wrong(c, "max_input_chars_per_word", "an integer from 1 to 200");
        memcpy(parts->prefix, prefix->text.at, prefix->text.length);
        parts->prefix_length = (uint32_t)prefix->text.length;
        parts->longest_word = count_of(longest);
    } else if (says(type, "WordLevel")) {
        parts->kind = ER_WORD_LEVEL;
        if (!has_keys(c, of, "type unk_token vocab", "")) return false;
    } else return unknown_kind(c, of);
    if (!is_text(unknown, MOST_CHARACTERS)) return wrong(c, "unk_token", "a text of at most 256 characters");
    if (!er_vocabulary_of(c->arena, vocabulary, texts, false, &parts->vocabulary)) return false;
    parts->unknown = er_find_text(&parts->vocabulary, unknown->text);
    if (parts->unknown == ER_MISSING) return wrong(c, "unk_token", "in the vocabulary");
    parts->prefix_hash = parts->vocabulary.seed;
    for (uint32_t i = 0; i < parts->prefix_length; i++) parts->prefix_hash = er_hashed(parts->prefix_hash, parts->prefix[i]);
    return true;
}

/* What a file says of cutting and padding, which nobody heeds. */
static bool check_unheeded(checker *c, const er_json *json, bool unigram)
{
    const er_json *cut = er_json_get(json, "truncation"), *padding = er_json_get(json, "padding"), *decoder = er_json_get(json, "decoder");
    c->part = "truncation";
    if (!is_null(cut) &&
        (!has_keys(c, cut, "max_length strategy stride", "direction") || !is_count(er_json_get(cut, "max_length"), 0, MOST_COUNT) ||
         !is_count(er_json_get(cut, "stride"), 0, MOST_COUNT) || !one_of(er_json_get(cut, "strategy"), "LongestFirst OnlyFirst OnlySecond") ||
         (er_json_get(cut, "direction") && !one_of(er_json_get(cut, "direction"), "Left Right"))))
        return wrong(c, "truncation", "as the library writes it");
    c->part = "padding";
    if (!is_null(padding)) {
        const er_json *strategy = er_json_get(padding, "strategy"), *multiple = er_json_get(padding, "pad_to_multiple_of");
        if (!has_keys(c, padding, "strategy direction pad_to_multiple_of pad_id pad_type_id pad_token", "")) return false;
        if ((!says(strategy, "BatchLongest") && !(is_kind(strategy, ER_JSON_OBJECT) && strategy->count == 1 && is_count(er_json_get(strategy, "Fixed"), 0, MOST_COUNT))) ||
            !one_of(er_json_get(padding, "direction"), "Left Right") || (!is_null(multiple) && !is_count(multiple, 0, MOST_COUNT)) ||
            !is_count(er_json_get(padding, "pad_id"), 0, MOST_COUNT) || !is_count(er_json_get(padding, "pad_type_id"), 0, 255) ||
            !is_text(er_json_get(padding, "pad_token"), MOST_CHARACTERS))
            return wrong(c, "padding", "as the library writes it");
    }
    c->part = "decoder";
    if (is_null(decoder)) return true;
    er_splitter unused = {0};
    bool flagged;
    if (unigram) return says(er_json_get(decoder, "type"), "Metaspace") ? read_metaspace(c, decoder, &unused) : unknown_kind(c, decoder);
    if (!says(er_json_get(decoder, "type"), "WordPiece")) return unknown_kind(c, decoder);
    return has_keys(c, decoder, "type prefix cleanup", "") && flag(c, decoder, "cleanup", &flagged) &&
           (is_text(er_json_get(decoder, "prefix"), LONGEST_PREFIX) || wrong(c, "prefix", "a text of at most 16 characters"));
}

bool er_read_parts(er_arena *arena, const er_json *json, er_text vocabulary, uint32_t texts, er_tokenizer_parts *parts, er_added_told *added,
                   uint32_t *added_count, uint32_t *ids)
{
    checker c = {arena, "the file"};
    const er_json *steps = NULL, *listed_added = er_json_get(json, "added_tokens"), *version = er_json_get(json, "version");
    if (!has_keys(&c, json, "model", "version truncation padding added_tokens normalizer pre_tokenizer post_processor decoder")) return false;
    if (version && !says(version, "1.0")) return wrong(&c, "version", "1.0");
    if (listed_added && (listed_added->kind != ER_JSON_ARRAY || listed_added->count > MOST_ADDED)) return wrong(&c, "added_tokens", "an array of at most 1,024");
    if (!read_model(&c, er_json_get(json, "model"), vocabulary, texts, parts)) return false;
    const bool unigram = parts->kind == ER_UNIGRAM;
    *ids = parts->vocabulary.count;
    c.part = "an added token";
    *added_count = listed_added ? listed_added->count : 0;
    for (uint32_t i = 0; i < *added_count; i++)
        if (!read_added(&c, &listed_added->items[i], &parts->vocabulary, ids, &added[i])) return false;
    if (!all_different(&c, added, *added_count)) return false;
    c.part = "normalizer";
    if (!steps_of(&c, er_json_get(json, "normalizer"), "normalizers", &steps, &parts->normalizer_count)) return false;
    uint32_t maps = 0;
    for (uint32_t i = 0; i < parts->normalizer_count; i++) {
        if (!read_normalizer(&c, &steps[i], unigram, &parts->normalizers[i])) return false;
        maps += parts->normalizers[i].kind == ER_PRECOMPILED;
    }
    if (maps > 1) return wrong(&c, "normalizers", "with one Precompiled at most");
    c.part = "pre-tokenizer";
    if (!steps_of(&c, er_json_get(json, "pre_tokenizer"), "pretokenizers", &steps, &parts->splitter_count)) return false;
    for (uint32_t i = 0; i < parts->splitter_count; i++)
        if (!read_splitter(&c, &steps[i], unigram, &parts->splitters[i])) return false;
    c.part = "post-processor";
    return read_ends(&c, er_json_get(json, "post_processor"), unigram, *ids, parts) && check_unheeded(&c, json, unigram);
}
