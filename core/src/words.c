/* Section 16.1: a text's words, and their stems; and names in words (section 6). */

#include "words.h"
#include "lexicon.h"
#include "unicode.h"

enum { LEAST = 3 }; /* characters that an ending leaves */

/* In order, to be found by halving. */
static const char common_words[][8] = {
    "a",    "about", "all",  "also", "an",     "and",  "any",  "are",  "as",    "at",   "be",    "but",  "by",    "can",
    "could", "did",  "do",   "does", "for",    "from", "had",  "has",  "have",  "he",   "her",   "his",  "how",   "i",
    "if",   "in",    "into", "is",   "it",     "its",  "just", "me",   "my",    "no",   "not",   "of",   "on",    "or",
    "our",  "out",   "please", "she", "so",    "some", "that", "the",  "their", "them", "then",  "there", "they", "this",
    "to",   "up",    "us",   "was",  "we",     "were", "what", "when", "which", "will", "with",  "would", "you",  "your"};

bool er_is_common(er_text word)
{
    if (word.length >= sizeof *common_words) return false;
    char padded[sizeof *common_words] = {0};
    memcpy(padded, word.at, word.length);
    size_t low = 0, high = sizeof common_words / sizeof *common_words;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = memcmp(padded, common_words[middle], sizeof padded);
        if (!order) return true;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return false;
}

static bool ends_in(er_text word, const char *ending, size_t length)
{
    return word.length >= length && !memcmp(word.at + word.length - length, ending, length);
}

/* Where the last character begins. */
static size_t last_of(er_text word)
{
    size_t at = word.length;
    while (at && ((unsigned char)word.at[--at] & 0xc0) == 0x80) continue;
    return at;
}

/* The stem of a word, which is its beginning; true where an `i` takes the place of the `y` at its end. Lengths are of
   code points, and endings ASCII, so that each is as many bytes. */
static bool stemmed(er_text word, er_text *stem)
{
    static const struct { char text[4]; uint8_t length, left; } endings[] = {
        {"ies", 3, 1}, {"ing", 3, 0}, {"ed", 2, 0}, {"es", 2, 0}, {"s", 1, 0}, {"e", 1, 0}};
    uint32_t length = er_length_of(word);
    *stem = word;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const uint32_t cut = endings[i].length;
        if (length < LEAST + cut || !ends_in(word, endings[i].text, cut)) continue;
        if (cut == 1 && ends_in(word, "ss", 2)) continue; /* "address", or it would not meet "addresses" */
        stem->length -= cut - endings[i].left; /* the `i` of `ies` stays */
        length -= cut - endings[i].left;
        break;
    }
    if (length <= LEAST) return false;
    if (ends_in(*stem, "y", 1)) return true;
    const size_t last = last_of(*stem), size = stem->length - last;
    /* "stopped" and "stop", but not "call" and "cal". */
    if (last < size || memcmp(stem->at + last, stem->at + last - size, size) || stem->at[last] == 'l' || stem->at[last] == 's')
        return false;
    stem->length = last;
    return false;
}

er_text er_stem(er_arena *arena, er_text word)
{
    er_text stem;
    if (!stemmed(word, &stem)) return stem;
    char *made = ER_TAKE(arena, char, stem.length);
    if (!made) return word;
    memcpy(made, stem.at, stem.length);
    made[stem.length - 1] = 'i';
    return (er_text){made, stem.length};
}

static bool breaks_camel(uint32_t before, uint32_t point)
{
    return point >= 'A' && point <= 'Z' && ((before >= 'a' && before <= 'z') || (before >= '0' && before <= '9'));
}

bool er_words_of(er_arena *arena, const er_points *text, const er_word **found, uint32_t *count)
{
    /* In lower case two bytes may become three, and every word may be there twice, its stem behind it. A word of 2^n bytes
       needs a break behind it. */
    const size_t room = text->text.length * 3 + 4;
    char *at = ER_TAKE(arena, char, room);
    er_word *words = ER_TAKE(arena, er_word, text->count / 2 + 2);
    if (!at || !words) return false;
    uint32_t n = 0;
    char *begin = at;
    for (uint32_t i = 0; i <= text->count; i++) {
        uint32_t lower[2];
        const uint32_t made = i < text->count ? er_lower_at(text->points, text->count, i, lower) : 0;
        const bool apart = i && i < text->count && breaks_camel(text->points[i - 1], text->points[i]);
        for (uint32_t k = 0; k < (made ? made : 1); k++) {
            const bool inside = k < made && er_is_alnum(lower[k]);
            if (begin < at && (!inside || (apart && !k))) {
                er_word *word = &words[n];
                word->written = (er_text){begin, (size_t)(at - begin)};
                if (er_is_common(word->written)) {
                    at = begin;
                } else {
                    if (stemmed(word->written, &word->stem)) {
                        memcpy(at, begin, word->stem.length);
                        word->stem.at = at;
                        at += word->stem.length;
                        at[-1] = 'i';
                    }
                    n++;
                }
                begin = at;
            }
            if (inside) at += er_put_point(at, lower[k]);
        }
    }
    *found = words;
    *count = n;
    return true;
}

bool er_name_in_words(er_arena *arena, er_text name, er_text *found)
{
    char *made = ER_TAKE(arena, char, name.length * 2 + 1);
    if (!made) return false;
    size_t n = 0;
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.at[i];
        if (i && breaks_camel((unsigned char)name.at[i - 1], (unsigned char)c)) made[n++] = ' ';
        made[n++] = c == '_' || c == '-' || c == '.' ? ' ' : c;
    }
    er_text text = {made, n};
    while (text.length) {
        size_t next = 0;
        if (!er_is_space(er_point_at(text, &next))) break;
        text = er_cut(text, next, text.length);
    }
    while (text.length) {
        size_t last = last_of(text), next = last;
        if (!er_is_space(er_point_at(text, &next))) break;
        text.length = last;
    }
    *found = text;
    return true;
}
