#include "distinct.h"

static uint64_t hash_of(er_text text)
{
    uint64_t hash = 0x9e3779b97f4a7c15u ^ text.length;
    for (size_t i = 0; i < text.length; i += 8) {
        uint64_t eight = 0;
        memcpy(&eight, text.at + i, text.length - i < 8 ? text.length - i : 8);
        hash = (hash ^ eight) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash * 0xc4ceb9fe1a85ec53u;
}

static uint32_t slot_of(er_text text, uint32_t mask) { return (uint32_t)(hash_of(text) >> 32) & mask; }

bool er_places_of(er_arena *arena, const er_text *texts, uint32_t count, er_places *places, int64_t *alike)
{
    uint32_t mask = 15;
    while (mask / 2 < count && mask < UINT32_MAX) mask = mask * 2 + 1;
    uint32_t *slots = ER_TAKE(arena, uint32_t, (size_t)mask + 1);
    if (!slots) return false;
    uint64_t looked = 0;
    *alike = -1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = slot_of(texts[i], mask);
        bool same = false;
        for (; slots[slot] && !same; slot = same ? slot : (slot + 1) & mask) {
            same = er_same(texts[slots[slot] - 1], texts[i]);
            if (++looked > 1000 + 64 * (uint64_t)count)
                return er_refuse(arena->error, ER_BAD_BUNDLE, "texts that were made to be slow to tell apart; build the bundle again");
        }
        if (same && *alike < 0) *alike = i;
        if (!same) slots[slot] = i + 1;
    }
    *places = (er_places){texts, slots, mask};
    return true;
}

int64_t er_place_of(const er_places *places, er_text text)
{
    uint32_t slot = slot_of(text, places->mask);
    for (; places->slots[slot]; slot = (slot + 1) & places->mask)
        if (er_same(places->texts[places->slots[slot] - 1], text)) return (int64_t)places->slots[slot] - 1;
    return -1;
}

bool er_first_alike(er_arena *arena, const er_text *texts, uint32_t count, int64_t *alike)
{
    *alike = -1;
    if (count <= 8) {
        for (uint32_t i = 1; i < count && *alike < 0; i++)
            for (uint32_t k = 0; k < i; k++)
                if (er_same(texts[i], texts[k])) *alike = i;
        return true;
    }
    const er_place before = er_mark(arena);
    er_places places;
    const bool fine = er_places_of(arena, texts, count, &places, alike);
    er_release(arena, before);
    return fine;
}
