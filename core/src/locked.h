/* One regular file that one writer at a time holds, changes at its end, or replaces (docs/FORMAT.md 15.4). Knows nothing of
   what is in it. What returns true has reached the disk. One file a system; without files there is locked_none.c. */

#ifndef ER_LOCKED_H
#define ER_LOCKED_H

#include "common.h"

typedef struct {
    const char *path; /* stays */
    er_shown shown;
    intptr_t file, lock; /* the system's handles; the same where the file itself is locked */
    er_error *error;
} er_locked;

/* A file as somebody left it. */
typedef struct {
    bool known;
    uint64_t id[2], size;
    uint8_t end[32]; /* its last bytes */
} er_stamp;

/* Opens a file, which is made where it is not there, and waits that long for another writer to end. */
bool er_locked_open(er_locked *, const char *path, double wait_s, er_error *);
void er_locked_close(er_locked *);

bool er_locked_unchanged(const er_locked *, const er_stamp *);
bool er_locked_read(const er_locked *, er_arena *, uint64_t most, er_text *);
/* Writes behind so many bytes, the file's end so far; if that fails, what is behind these is cut off again. */
bool er_locked_put(const er_locked *, const void *bytes, size_t length, uint64_t at);
bool er_locked_cut(const er_locked *, uint64_t size);
/* Deletes what writers that died left beside the file, and makes file and name durable; the stamp's id is then the file's. */
bool er_locked_settle(const er_locked *, er_stamp *);
/* Puts a file with these bytes in its place, in one step, and holds that; its name is not durable before er_locked_settle. */
bool er_locked_replace(er_locked *, const void *bytes, size_t length);

/* A file's bytes without a lock; none where there is no file. */
bool er_file_read(er_arena *, const char *path, uint64_t most, er_text *);
bool er_random(void *bytes, size_t length);
#if defined(__wasm__)
double er_page_seconds(void); /* since 1970; this and er_random are bindings/js/shim.c's there */
#endif

#endif
