/* Where there are no files: what is learned stays in memory. */

#if defined(__wasm__) || defined(ER_NO_FILES)

#include "locked.h"

bool er_locked_open(er_locked *l, const char *path, double wait_s, er_error *error)
{
    return er_refuse(error, ER_NO_FILE, "%s: there are no files here; learn in memory, without an overlay", er_show((er_text){path, strlen(path)}).at);
}

bool er_file_read(er_arena *arena, const char *path, uint64_t most, er_text *found)
{
    er_locked none;
    return er_locked_open(&none, path, 0, arena->error);
}

void er_locked_close(er_locked *l) {}
bool er_locked_unchanged(const er_locked *l, const er_stamp *stamp) { return false; }
bool er_locked_read(const er_locked *l, er_arena *arena, uint64_t most, er_text *found) { return false; }
bool er_locked_put(const er_locked *l, const void *bytes, size_t length, uint64_t at) { return false; }
bool er_locked_cut(const er_locked *l, uint64_t size) { return false; }
bool er_locked_settle(const er_locked *l, er_stamp *stamp) { return false; }
bool er_locked_replace(er_locked *l, const void *bytes, size_t length) { return false; }

#if !defined(__wasm__) /* a page is asked: bindings/js/shim.c */
bool er_random(void *bytes, size_t length) { return false; }
#endif

#else
typedef int er_some_locked;
#endif
