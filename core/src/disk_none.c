/* Where there are no files: on a page, on a bare device. */

#if defined(__wasm__) || defined(ER_NO_FILES)

#include "disk.h"

bool er_disk_folder(er_error *error, const char *path)
{
    return er_refuse(error, ER_NO_FILE, "%s: there are no folders here; give a bundle's files to er_load_files", er_show((er_text){path, strlen(path)}).at);
}

bool er_disk_write(er_error *error, const char *path, const void *bytes, size_t length) { return (void)bytes, (void)length, er_disk_folder(error, path); }
bool er_disk_rename(er_error *error, const char *folder, const char *from, const char *to) { return (void)from, (void)to, er_disk_folder(error, folder); }
bool er_disk_there(const char *path) { return (void)path, false; }
void er_disk_remove(const char *path) { (void)path; }
bool er_disk_flush(er_error *error, const char *folder) { return er_disk_folder(error, folder); }

bool er_disk_names(er_arena *arena, const char *folder, const er_text **names, uint32_t *count)
{
    (void)names, (void)count;
    return er_disk_folder(arena->error, folder);
}

#else
typedef int er_some_disk;
#endif
