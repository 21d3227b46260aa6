/* Folders that are made, files that are put in place whole, and names that change in one step. Knows nothing of what is in
   them. What returns true has reached the disk. One file a system; without files there is disk_none.c. */

#ifndef ER_DISK_H
#define ER_DISK_H

#include "common.h"

/* A folder, which is made (mode 0700) where it is not there. */
bool er_disk_folder(er_error *, const char *path);
/* A new file, of mode 0600; nothing may be in its place. */
bool er_disk_write(er_error *, const char *path, const void *bytes, size_t length);
/* Gives a file or a folder another name in the same folder: a file replaces the one there, a folder nothing. Whether the names in
   `folder` reached the disk, too. */
bool er_disk_rename(er_error *, const char *folder, const char *from, const char *to);
/* Whether anything is there. */
bool er_disk_there(const char *path);
/* Deletes a file, or a folder of files; what cannot be deleted stays. */
void er_disk_remove(const char *path);
/* Makes the names in a folder durable. */
bool er_disk_flush(er_error *, const char *folder);
/* All names in a folder but those of itself and the one above. */
bool er_disk_names(er_arena *, const char *folder, const er_text **names, uint32_t *count);

#endif
