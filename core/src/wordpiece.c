/* WordPiece and WordLevel (section 5): words to pieces, the longest first. */

#include "tokenizer_parts.h"

/* The pieces of a word of `length` bytes, into `ids` and where each ends in it, at most one a character; 0 for a word that
   has none. Only ends of characters are tried. */
static uint32_t cut(const er_tokenizer_parts *parts, const char *word, uint32_t length, uint32_t *ids, uint32_t *ends)
{
    const er_vocabulary *v = &parts->vocabulary;
    uint64_t hashes[4 * LONGEST_WORD + 1];
    uint32_t count = 0;
    char going_on[sizeof parts->prefix + 4 * LONGEST_WORD];
    memcpy(going_on, parts->prefix, parts->prefix_length);
    for (uint32_t begin = 0; begin < length;) {
        const uint32_t before = begin ? parts->prefix_length : 0;
        if (before > v->longest) return 0;
        const uint32_t most = v->longest - before, rest = length - begin, far = rest < most ? rest : most;
        uint64_t hash = begin ? parts->prefix_hash : v->seed;
        for (uint32_t i = 0; i < far; i++) hashes[i] = hash = er_hashed(hash, word[begin + i]);
        if (before) memcpy(going_on + before, word + begin, far);
        const char *text = before ? going_on : word + begin;
        uint32_t tried = far;
        for (; tried; tried--) {
            if (begin + tried < length && ((uint8_t)word[begin + tried] & 0xc0) == 0x80) continue;
            const uint32_t id = er_find_piece(v, hashes[tried - 1], text, before + tried);
            if (id == ER_MISSING) continue;
            ids[count] = id;
            ends[count++] = begin += tried;
            break;
        }
        if (!tried) return 0;
    }
    return count;
}

bool er_word_piece(const er_tokenizer_parts *parts, const er_run *run, er_span piece, const char *bytes, const uint32_t *starts,
                   er_tokens_made *made)
{
    const uint32_t first = starts[piece.begin], length = starts[piece.end] - first;
    if (parts->kind == ER_WORD_LEVEL) {
        const uint32_t id = er_find_text(&parts->vocabulary, (er_text){bytes + first, length});
        return er_made_add(made, parts, run, piece, id == ER_MISSING ? parts->unknown : id);
    }
    uint32_t ids[LONGEST_WORD], ends[LONGEST_WORD];
    const uint32_t count = piece.end - piece.begin > parts->longest_word ? 0 : cut(parts, bytes + first, length, ids, ends);
    if (!count) return er_made_add(made, parts, run, piece, parts->unknown);
    for (uint32_t i = 0, begin = piece.begin, end = begin; i < count; i++, begin = end) {
        while (starts[end] - first < ends[i]) end++;
        if (!er_made_add(made, parts, run, (er_span){begin, end}, ids[i])) return false;
    }
    return true;
}

uint32_t er_quick_tokens(const er_tokenizer_parts *parts, const char *text, uint32_t length, uint32_t *ids, er_span *spans)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < length;) {
        const uint8_t c = (uint8_t)text[i];
        const uint8_t kind = c < 128 ? parts->kinds[c] : QUICK_OTHER;
        if (kind == QUICK_OTHER) return ER_MISSING;
        if (kind == QUICK_SPACE) {
            i++;
            continue;
        }
        char word[LONGEST_WORD];
        uint32_t end = i, ends[LONGEST_WORD], found = 0;
        do {
            if (end - i < LONGEST_WORD) word[end - i] = parts->folded[(uint8_t)text[end]];
            end++;
        } while (kind == QUICK_LETTER && end < length && (uint8_t)text[end] < 128 && parts->kinds[(uint8_t)text[end]] == QUICK_LETTER);
        if (end - i <= parts->longest_word) found = cut(parts, word, end - i, ids + count, ends);
        if (!found) {
            ids[count] = parts->unknown;
            ends[0] = end - i;
            found = 1;
        }
        for (uint32_t k = 0, begin = i; k < found; k++) {
            spans[count++] = (er_span){begin, i + ends[k]};
            begin = i + ends[k];
        }
        i = end;
    }
    return count;
}
