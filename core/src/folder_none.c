/* Where there are no files: on a page, on a bare device. er_load_files takes them from memory. */

#if defined(__wasm__) || defined(ER_NO_FILES)

#include "folder.h"

er_folder *er_folder_open(er_arena *arena, const char *path)
{
    (void)path;
    er_refuse(arena->error, ER_NO_FILE, "there are no folders here; give the bundle's files to er_load_files");
    return NULL;
}

bool er_folder_map(er_arena *arena, const er_folder *folder, er_text name, uint64_t most, const char *remedy, er_mapped *found)
{
    (void)arena, (void)folder, (void)name, (void)most, (void)remedy, (void)found;
    return false;
}

void er_unmap(er_mapped *file) { (void)file; }
void er_idle(const er_mapped *file) { (void)file; }
bool er_folder_replaced(const er_folder *folder) { return (void)folder, false; }
void er_folder_close(er_folder *folder) { (void)folder; }

#else
typedef int er_some_folder;
#endif
