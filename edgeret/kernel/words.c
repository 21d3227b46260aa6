/* The tokens of a text by WordPiece: its words are cut into the longest pieces that a vocabulary has, one after the other.
   edgeret_read_words does for a text of printable ASCII what the tokenizers library does (word_tokens.py says when).
   Knows nothing of Python; whoever calls vouches for all lengths. */

#include <string.h>

#include "strings.h"

/* Piece i is token `ids[i]`. `kinds` (128) say what a character is, `folded` (128) what it is read as. A piece that does not
   begin a word begins with the `prefix`. */
typedef struct {
    Strings pieces;
    int64_t longest_piece, longest_word, unknown, prefix_length;
    const char *folded, *prefix;
    const uint8_t *kinds;
    const int32_t *ids;
} Vocabulary;

enum { NOT_OURS, SPACE, LETTER, MARK }; /* a mark is a word by itself */
enum { LONGEST = 255, PREFIX = 16 };    /* of a word and of the prefix, for the room that they take here */
enum { LEFT = -1 };

/* Fills the places, which are empty, and twice as many as the texts at least. 0 for texts that were made to crowd a few of
   them, and would make every look long. */
PUBLIC int64_t edgeret_keep_strings(const Strings *s)
{
    for (int64_t i = 0; i < s->count; i++) {
        uint32_t hash = NOTHING_HASHED;
        for (int32_t c = s->starts[i]; c < s->starts[i + 1]; c++) hash = hashed(hash, s->characters[c]);
        int64_t tried = 0;
        while (tried < TRIES && s->places[((int64_t)hash + tried) & s->mask]) tried++;
        if (tried == TRIES) return 0;
        s->places[((int64_t)hash + tried) & s->mask] = (int32_t)i + 1;
    }
    return 1;
}

/* The pieces of the word in room[PREFIX : PREFIX + length], which is written over: their tokens, and where each begins and
   ends from `begin` on. How many; one, the unknown one, where a part of it is no piece. */
static int64_t cut(const Vocabulary *v, char *room, int64_t length, int64_t begin, int64_t *ids, int64_t *spans)
{
    int64_t count = 0;
    uint32_t after_prefix = NOTHING_HASHED, hashes[LONGEST];
    for (int64_t c = 0; c < v->prefix_length; c++) after_prefix = hashed(after_prefix, v->prefix[c]);
    for (int64_t start = 0; start < length;) {
        const int64_t added = start ? v->prefix_length : 0;
        char *piece = room + PREFIX + start - added;
        if (start) memcpy(piece, v->prefix, (size_t)added); /* over what was cut off already */
        int64_t most = length - start, found = -1;
        if (most > v->longest_piece - added) most = v->longest_piece - added;
        uint32_t hash = start ? after_prefix : NOTHING_HASHED;
        for (int64_t c = 0; c < most; c++) hashes[c] = hash = hashed(hash, piece[added + c]);
        for (; most > 0; most--)
            if ((found = find_string(&v->pieces, hashes[most - 1], piece, added + most)) >= 0) break;
        if (found < 0) {
            ids[0] = v->unknown;
            spans[0] = begin;
            spans[1] = begin + length;
            return 1;
        }
        ids[count] = v->ids[found];
        spans[2 * count] = begin + start;
        spans[2 * count + 1] = begin + (start += most);
        count++;
    }
    return count;
}

/* A text's tokens and where each begins and ends (length, 2), and how many; LEFT for a text that has to be read
   otherwise. */
PUBLIC int64_t edgeret_read_words(const Vocabulary *v, const char *text, int64_t length, int64_t *ids, int64_t *spans)
{
    char room[PREFIX + LONGEST];
    int64_t count = 0;
    for (int64_t at = 0; at < length;) {
        const int64_t begin = at;
        const uint8_t kind = v->kinds[text[at++] & 127];
        if (kind == NOT_OURS) return LEFT;
        if (kind == SPACE) continue;
        while (kind == LETTER && at < length && v->kinds[text[at] & 127] == LETTER) at++;
        const int64_t size = at - begin;
        if (size > v->longest_word) {
            ids[count] = v->unknown;
            spans[2 * count] = begin;
            spans[2 * count + 1] = at;
            count++;
            continue;
        }
        for (int64_t c = 0; c < size; c++) room[PREFIX + c] = v->folded[text[begin + c] & 127];
        count += cut(v, room, size, begin, ids + count, spans + 2 * count);
    }
    return count;
}
