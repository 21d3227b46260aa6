/* A folder held open: its files come from the very folder that was opened, whatever is put in its place meanwhile. Knows
   nothing of what the files are. Links are refused but for those of FORMAT.md 11, and so is whatever is no regular file,
   without waiting for it. One file a system; without files there is folder_none.c. */

#ifndef ER_FOLDER_H
#define ER_FOLDER_H

#include "common.h"

typedef struct er_folder er_folder;

/* A file's bytes: mapped where the system can. They stay until er_unmap, and hold for as long as nobody writes into the
   file itself; a bundle's writers never do. */
typedef struct {
    const void *bytes;
    size_t length;
    void *map; /* what er_unmap gives back; NULL: nothing */
} er_mapped;

/* NULL: refused. */
er_folder *er_folder_open(er_arena *, const char *path);

/* A regular file of at most so many bytes. A message ends with the remedy. */
bool er_folder_map(er_arena *, const er_folder *, er_text name, uint64_t most, const char *remedy, er_mapped *);
void er_unmap(er_mapped *);
/* Its pages count no longer as this process's, until they are read again: loading reads all of a file, deciding little. */
void er_idle(const er_mapped *);

/* Whether another folder, or none, is in its place by now. */
bool er_folder_replaced(const er_folder *);
void er_folder_close(er_folder *);

#endif
