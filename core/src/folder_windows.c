/* Folders of Windows. Files are opened by their path: a folder cannot be held open here as a place to begin with. Links of
   all kinds are refused. */

#if defined(_WIN32) && !defined(ER_NO_FILES)

#include "folder.h"

#include <stdio.h>
#include <wchar.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

enum { MOST_PATH = 1024 };

struct er_folder {
    wchar_t path[MOST_PATH];
    char shown[160];
    DWORD volume, index[2];
};

static bool wide(er_text text, wchar_t *into, int room)
{
    const int length = text.length ? MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.at, (int)text.length, into, room - 1) : 0;
    into[length] = 0;
    return length > 0;
}

static bool identity(const wchar_t *path, BY_HANDLE_FILE_INFORMATION *info)
{
    HANDLE folder = CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (folder == INVALID_HANDLE_VALUE) return false;
    const bool fine = GetFileInformationByHandle(folder, info) && (info->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY);
    CloseHandle(folder);
    return fine;
}

er_folder *er_folder_open(er_arena *arena, const char *path)
{
    er_folder *folder = ER_TAKE(arena, er_folder, 1);
    if (!folder) return NULL;
    BY_HANDLE_FILE_INFORMATION info;
    const er_text text = {path, strlen(path)};
    memcpy(folder->shown, er_show(text).at, sizeof folder->shown);
    if (text.length >= MOST_PATH || !wide(text, folder->path, MOST_PATH) || !identity(folder->path, &info)) {
        er_refuse(arena->error, ER_NO_FILE, "%s: not a bundle (no such folder); make one with: edgeret-export build -o %s", folder->shown,
                  folder->shown);
        return NULL;
    }
    folder->volume = info.dwVolumeSerialNumber;
    folder->index[0] = info.nFileIndexHigh;
    folder->index[1] = info.nFileIndexLow;
    return folder;
}

bool er_folder_replaced(const er_folder *folder)
{
    BY_HANDLE_FILE_INFORMATION info;
    return !identity(folder->path, &info) || info.dwVolumeSerialNumber != folder->volume || info.nFileIndexHigh != folder->index[0] ||
           info.nFileIndexLow != folder->index[1];
}

void er_folder_close(er_folder *folder) { (void)folder; }

bool er_folder_map(er_arena *arena, const er_folder *folder, er_text name, uint64_t most, const char *remedy, er_mapped *found)
{
    wchar_t file[128], path[MOST_PATH + 130];
    const er_shown shown = er_show(name);
    if (name.length >= 120 || !wide(name, file, 128)) return er_refuse(arena->error, ER_BAD_BUNDLE, "%s: no name of a file; %s", shown.at, remedy);
    _snwprintf(path, MOST_PATH + 129, L"%ls\\%ls", folder->path, file);
    path[MOST_PATH + 129] = 0;
    HANDLE handle = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (handle == INVALID_HANDLE_VALUE)
        return er_refuse(arena->error, ER_NO_FILE, "%s/%s: %s; %s", folder->shown, shown.at,
                         GetLastError() == ERROR_FILE_NOT_FOUND ? "missing" : "cannot be read", remedy);
    BY_HANDLE_FILE_INFORMATION info;
    bool fine = GetFileType(handle) == FILE_TYPE_DISK && GetFileInformationByHandle(handle, &info) &&
                !(info.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT));
    if (!fine) er_refuse(arena->error, ER_BAD_BUNDLE, "%s/%s: not a regular file; %s", folder->shown, shown.at, remedy);
    const uint64_t size = fine ? (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow : 0;
    if (fine && (size > most || size > SIZE_MAX / 4))
        fine = er_refuse(arena->error, ER_BAD_BUNDLE, "%s/%s: expected %llu bytes at most, found %llu; %s", folder->shown, shown.at,
                         (unsigned long long)most, (unsigned long long)size, remedy);
    *found = (er_mapped){"", 0, NULL};
    if (fine && size) {
        HANDLE mapping = CreateFileMappingW(handle, NULL, PAGE_READONLY, 0, 0, NULL);
        void *map = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : NULL;
        if (mapping) CloseHandle(mapping); /* the view keeps it */
        *found = (er_mapped){map, (size_t)size, map};
        fine = map || er_refuse(arena->error, ER_NO_FILE, "%s/%s: cannot be mapped; %s", folder->shown, shown.at, remedy);
    }
    CloseHandle(handle);
    return fine;
}

void er_idle(const er_mapped *file) { (void)file; }

void er_unmap(er_mapped *file)
{
    if (file->map) UnmapViewOfFile(file->map);
    file->map = NULL;
}

#else
typedef int er_no_windows;
#endif
