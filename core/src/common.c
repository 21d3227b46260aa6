#include "common.h"
#include "format.h"

#include <stdlib.h>

/* Of memory that is taken at once: blocks double up to this. Where memory is small, -DER_LARGEST_BLOCK=16384 leaves less of
   it unused. */
#ifndef ER_LARGEST_BLOCK
#define ER_LARGEST_BLOCK (8u << 20)
#endif

/* The system clears larger blocks, and only those pages that are used; of smaller ones we clear what is taken. */
enum { LEAST_BLOCK = ER_LARGEST_BLOCK < (64 << 10) ? ER_LARGEST_BLOCK : 64 << 10, LINE = 64, MOST_CLEARED = 1 << 20 };

struct er_block {
    er_block *before;
    size_t size, used;
    bool zeros; /* whether all that is not used is */
    _Alignas(LINE) unsigned char bytes[];
};

/* For the tests of what happens without memory: another allocator that gives zeros may stand in the place of calloc. */
#ifndef ER_ALLOCATE
#define ER_ALLOCATE(size) calloc(1, (size))
#define ER_ALLOCATE_ANY(size) malloc(size)
#else
#define ER_ALLOCATE_ANY ER_ALLOCATE
#endif

static er_block *more(er_arena *arena, size_t least)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : LEAST_BLOCK;
    if (size > ER_LARGEST_BLOCK) size = ER_LARGEST_BLOCK;
    if (size < least) size = least;
    /* calloc promises less than a line of alignment, so a line more is taken and the block is put right. */
    const size_t whole = sizeof(er_block) + size + LINE + sizeof(void *);
    void *raw = size > MOST_CLEARED ? ER_ALLOCATE(whole) : ER_ALLOCATE_ANY(whole);
    if (!raw) return NULL;
    uintptr_t at = ((uintptr_t)raw + sizeof(void *) + LINE - 1) & ~(uintptr_t)(LINE - 1);
    ((void **)at)[-1] = raw;
    er_block *block = (er_block *)at;
    block->before = arena->blocks;
    block->size = size;
    block->used = 0;
    block->zeros = size > MOST_CLEARED;
    arena->blocks = block;
    arena->taken += size;
    return block;
}

/* What so many take, in whole lines. */
static size_t bytes_of(size_t count, size_t size) { return (count * size + LINE - 1) & ~(size_t)(LINE - 1); }

void *er_take_any(er_arena *arena, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX / 4) / size) {
        er_refuse(arena->error, ER_NO_MEMORY, "no memory for %zu times %zu bytes", count, size);
        return NULL;
    }
    const size_t bytes = bytes_of(count, size);
    er_block *block = arena->blocks;
    if (!block || block->size - block->used < bytes) block = more(arena, bytes);
    if (!block) {
        er_refuse(arena->error, ER_NO_MEMORY, "no memory for %zu bytes; a smaller bundle needs less", bytes);
        return NULL;
    }
    void *found = block->bytes + block->used;
    block->used += bytes;
    return found;
}

void *er_take(er_arena *arena, size_t count, size_t size)
{
    void *found = er_take_any(arena, count, size);
    if (found && !arena->blocks->zeros) memset(found, 0, bytes_of(count, size));
    return found;
}

static void drop(er_block *block) { free(((void **)block)[-1]); }

void er_give_back(er_arena *arena)
{
    for (er_block *block = arena->blocks, *before; block; block = before) {
        before = block->before;
        drop(block);
    }
    arena->blocks = NULL;
    arena->taken = 0;
}

er_place er_mark(const er_arena *arena)
{
    return (er_place){arena->blocks, arena->blocks ? arena->blocks->used : 0};
}

void er_release(er_arena *arena, er_place place)
{
    while (arena->blocks != place.block) {
        er_block *block = arena->blocks;
        arena->blocks = block->before;
        arena->taken -= block->size;
        drop(block);
    }
    if (!place.block) return;
    if (place.block->zeros) memset(place.block->bytes + place.used, 0, place.block->used - place.used);
    place.block->used = place.used;
}

bool er_refuse(er_error *error, er_status status, const char *format, ...)
{
    if (!error || error->status) return false;
    error->status = status;
    va_list values;
    va_start(values, format);
    er_format_by(error->text, sizeof error->text, format, values);
    va_end(values);
    return false;
}

/* The code point that begins there, and its bytes: 0 for what is no UTF-8. */
static size_t point_at(er_text text, size_t i, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char c = (unsigned char)text.at[i];
    const size_t length = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    if (!length || i + length > text.length) return 0;
    uint32_t found = length < 2 ? c : c & (0x7fu >> length);
    for (size_t k = 1; k < length; k++) {
        const unsigned char next = (unsigned char)text.at[i + k];
        if ((next & 0xc0) != 0x80) return 0;
        found = found << 6 | (next & 0x3f);
    }
    if (found < least[length] || found > 0x10ffff || (found >= 0xd800 && found < 0xe000)) return 0;
    *point = found;
    return length;
}

/* Controls, line ends, bidirectional controls, tags and other characters that nobody sees. */
static bool acts(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e || c == 0x200b || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
           (c >= 0xe0000 && c <= 0xe0fff);
}

er_error *er_clear(er_error *given, er_error *own)
{
    er_error *error = given ? given : own;
    error->status = ER_OK;
    error->text[0] = 0;
    return error;
}

er_shown er_show(er_text text)
{
    er_shown shown;
    size_t n = 0;
    for (size_t i = 0, length; i < text.length; i += length) {
        uint32_t point;
        length = point_at(text, i, &point);
        if (n + 16 > sizeof shown.at) {
            memcpy(shown.at + n, "...", 3);
            n += 3;
            break;
        }
        const unsigned char byte = (unsigned char)text.at[i];
        if (!length) n += er_format(shown.at + n, 11, "\\x%02x", byte), length = 1;
        else if (acts(point)) n += er_format(shown.at + n, 11, point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)point);
        else memcpy(shown.at + n, text.at + i, length), n += length;
    }
    shown.at[n] = 0;
    return shown;
}

bool er_sized(const void *room, size_t least, const char *type, er_error *error)
{
    const size_t size = *(const size_t *)room;
    return size >= least || er_refuse(error, ER_BAD_INPUT, "size is %zu; set it to sizeof(%s)", size, type);
}

bool er_options(void *own, size_t size, const void *given, size_t least, const char *type, er_error *error)
{
    memset(own, 0, size);
    if (!given) return true;
    if (!er_sized(given, least, type, error)) return false;
    const size_t told = *(const size_t *)given;
    memcpy(own, given, told < size ? told : size);
    return true;
}

void er_fill(void *room, const void *found, size_t size)
{
    const size_t told = *(const size_t *)room;
    memcpy(room, found, told < size ? told : size);
    *(size_t *)room = told;
}

bool er_points_of(er_arena *arena, er_text text, er_points *found)
{
    if (text.length > UINT32_MAX / 8) return er_refuse(arena->error, ER_BAD_INPUT, "a text of %zu bytes is too long", text.length);
    uint32_t *points = ER_TAKE(arena, uint32_t, text.length + 1), *starts = ER_TAKE(arena, uint32_t, text.length + 1);
    if (!points || !starts) return false;
    uint32_t count = 0;
    for (size_t i = 0, length; i < text.length; i += length) {
        length = point_at(text, i, &points[count]);
        if (!length) return er_refuse(arena->error, ER_BAD_INPUT, "byte %zu of a text is no UTF-8; convert or cut it", i);
        starts[count++] = (uint32_t)i;
    }
    starts[count] = (uint32_t)text.length;
    *found = (er_points){text, points, starts, count};
    return true;
}
