/* Disks of Windows, where a name needs no flushing, and nothing takes the place of a file that is open. */

#if defined(_WIN32) && !defined(ER_NO_FILES)

#include "disk.h"

#include <stdio.h>
#include <wchar.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

enum { MOST_PATH = 1024, ATTEMPTS = 50, PAUSE_MS = 20 };

static bool told(er_error *error, const char *path)
{
    const unsigned long why = GetLastError();
    return er_refuse(error, ER_NOT_KEPT, "%s: cannot be written (error %lu); what was there is kept; make room or get the right to it, and try again",
                     er_show((er_text){path, strlen(path)}).at, why);
}

static bool wide(const char *path, wchar_t into[MOST_PATH])
{
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, into, MOST_PATH) > 0) return true;
    return SetLastError(ERROR_INVALID_NAME), false;
}

static bool is_folder(const wchar_t *path)
{
    const DWORD found = GetFileAttributesW(path);
    return found != INVALID_FILE_ATTRIBUTES && (found & FILE_ATTRIBUTE_DIRECTORY);
}

bool er_disk_folder(er_error *error, const char *path)
{
    wchar_t to[MOST_PATH];
    return (wide(path, to) && (CreateDirectoryW(to, NULL) || is_folder(to))) || told(error, path);
}

bool er_disk_write(er_error *error, const char *path, const void *bytes, size_t length)
{
    enum { MOST = 1 << 24 };
    wchar_t to[MOST_PATH];
    HANDLE file = wide(path, to) ? CreateFileW(to, GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL) : INVALID_HANDLE_VALUE;
    if (file == INVALID_HANDLE_VALUE) return told(error, path);
    size_t done = 0;
    bool fine = true;
    for (DWORD more; fine && done < length; done += more) {
        const size_t left = length - done;
        fine = WriteFile(file, (const char *)bytes + done, (DWORD)(left < MOST ? left : MOST), &more, NULL) && more;
    }
    fine = (fine && FlushFileBuffers(file)) || told(error, path);
    CloseHandle(file);
    if (!fine) DeleteFileW(to);
    return fine;
}

bool er_disk_flush(er_error *error, const char *folder) { return (void)error, (void)folder, true; }

bool er_disk_rename(er_error *error, const char *folder, const char *from, const char *to)
{
    wchar_t old[MOST_PATH], new[MOST_PATH];
    (void)folder;
    if (!wide(from, old) || !wide(to, new)) return told(error, to);
    for (int i = 0; i < ATTEMPTS; i++) { /* a reader may hold it for a moment */
        if (MoveFileExW(old, new, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) return true;
        if (GetLastError() != ERROR_ACCESS_DENIED && GetLastError() != ERROR_SHARING_VIOLATION) break;
        const DWORD why = GetLastError();
        Sleep(PAUSE_MS);
        SetLastError(why);
    }
    return told(error, to);
}

bool er_disk_there(const char *path)
{
    wchar_t at[MOST_PATH];
    return wide(path, at) && GetFileAttributesW(at) != INVALID_FILE_ATTRIBUTES;
}

void er_disk_remove(const char *path)
{
    wchar_t at[MOST_PATH], inner[2 * MOST_PATH];
    WIN32_FIND_DATAW found;
    if (!wide(path, at)) return;
    if (!is_folder(at)) {
        DeleteFileW(at);
        return;
    }
    _snwprintf(inner, 2 * MOST_PATH - 1, L"%ls\\*", at);
    inner[2 * MOST_PATH - 1] = 0;
    HANDLE list = FindFirstFileW(inner, &found);
    for (bool more = list != INVALID_HANDLE_VALUE; more; more = FindNextFileW(list, &found)) {
        if (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) continue;
        _snwprintf(inner, 2 * MOST_PATH - 1, L"%ls\\%ls", at, found.cFileName);
        DeleteFileW(inner);
    }
    if (list != INVALID_HANDLE_VALUE) FindClose(list);
    RemoveDirectoryW(at);
}

bool er_disk_names(er_arena *arena, const char *folder, const er_text **names, uint32_t *count)
{
    enum { MOST = 1 << 16, LONGEST = 3 * MAX_PATH };
    wchar_t at[MOST_PATH], pattern[MOST_PATH + 2];
    WIN32_FIND_DATAW one;
    if (!wide(folder, at)) return told(arena->error, folder);
    _snwprintf(pattern, MOST_PATH + 1, L"%ls\\*", at);
    pattern[MOST_PATH + 1] = 0;
    HANDLE list = FindFirstFileW(pattern, &one);
    if (list == INVALID_HANDLE_VALUE) return told(arena->error, folder);
    uint32_t found = 0, room = 0;
    er_text *made = NULL;
    bool fine = true;
    do {
        char name[LONGEST];
        const int length = WideCharToMultiByte(CP_UTF8, 0, one.cFileName, -1, name, LONGEST, NULL, NULL) - 1;
        if (length <= 0 || !strcmp(name, ".") || !strcmp(name, "..")) continue;
        if (found == room) {
            er_text *larger = ER_TAKE(arena, er_text, room = room ? 2 * room : 64);
            if ((fine = larger != NULL) && found) memcpy(larger, made, found * sizeof *made);
            made = larger;
        }
        char *kept = fine ? ER_TAKE(arena, char, (size_t)length + 1) : NULL;
        if ((fine = kept != NULL)) made[found++] = (er_text){memcpy(kept, name, (size_t)length + 1), (size_t)length};
    } while (fine && found < MOST && FindNextFileW(list, &one));
    FindClose(list);
    *names = made;
    *count = found;
    return fine;
}

#else
typedef int er_no_disk_windows;
#endif
