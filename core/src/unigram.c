/* Unigram (section 5): the pieces whose scores add up to most. */

#include "tokenizer_parts.h"

/* The best way to a place: the last piece's number and where it begins. */
typedef struct {
    double score;
    uint32_t id, begin;
} way;

static void offer(way *to, double score, uint32_t id, uint32_t begin)
{
    if (to->begin == ER_MISSING || score > to->score) *to = (way){score, id, begin};
}

static void try_all(const er_tokenizer_parts *parts, const char *bytes, const uint32_t *starts, er_span piece, way *ways)
{
    const er_vocabulary *v = &parts->vocabulary;
    for (uint32_t i = piece.begin; i < piece.end; i++) {
        const double before = ways[i - piece.begin].score;
        const uint32_t far = er_reach(v, bytes + starts[i], starts[piece.end] - starts[i]);
        uint64_t hash = v->seed;
        bool alone = false;
        for (uint32_t k = i + 1, at = starts[i]; k <= piece.end && starts[k] - starts[i] <= far; k++) {
            while (at < starts[k]) hash = er_hashed(hash, bytes[at++]);
            const uint32_t id = er_find_piece(v, hash, bytes + starts[i], starts[k] - starts[i]);
            if (id == ER_MISSING) continue;
            alone |= k == i + 1;
            offer(&ways[k - piece.begin], v->scores[id] + before, id, i);
        }
        if (!alone) offer(&ways[i + 1 - piece.begin], parts->unknown_score + before, parts->unknown, i);
    }
}

bool er_unigram(er_arena *arena, const er_tokenizer_parts *parts, const er_run *run, er_span piece, const char *bytes,
                const uint32_t *starts, er_tokens_made *made)
{
    const uint32_t count = piece.end - piece.begin;
    way *ways = ER_TAKE(arena, way, (size_t)count + 1);
    uint32_t *ends = ER_TAKE(arena, uint32_t, count), pieces = 0; /* ends of the best way's pieces, the last first */
    if (!ways || !ends) return false;
    for (uint32_t i = 0; i <= count; i++) ways[i].begin = ER_MISSING;
    try_all(parts, bytes, starts, piece, ways);
    for (uint32_t end = piece.end; end > piece.begin; end = ways[end - piece.begin].begin) {
        /* Unknown ones beside each other are one. */
        const bool same = pieces && ways[end - piece.begin].id == parts->unknown && ways[ends[pieces - 1] - piece.begin].id == parts->unknown;
        if (same) ways[ends[pieces - 1] - piece.begin].begin = ways[end - piece.begin].begin;
        else ends[pieces++] = end;
    }
    while (pieces) {
        const uint32_t end = ends[--pieces], begin = ways[end - piece.begin].begin;
        uint32_t id = ways[end - piece.begin].id;
        if (id == parts->unknown) { /* together they may be a piece that is known */
            const uint32_t known = er_find_text(&parts->vocabulary, (er_text){bytes + starts[begin], starts[end] - starts[begin]});
            if (known != ER_MISSING) id = known;
        }
        if (!er_made_add(made, parts, run, (er_span){begin, end}, id)) return false;
    }
    return true;
}
