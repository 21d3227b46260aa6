/* Files of Windows, which puts nothing in the place of a file that is open: the first byte of a file beside it, NAME.lock, is
   locked, and stays. A file's name needs no flushing. */

#if defined(_WIN32) && !defined(ER_NO_FILES)

#define _CRT_RAND_S
#include <stdlib.h>

#include "locked.h"

#include <stdio.h>
#include <wchar.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

enum { MOST_PATH = 1024, RANDOM = 8, LEAST_WAIT_MS = 2, MOST_WAIT_MS = 20 };
static const intptr_t CLOSED = -1;

static HANDLE handle(intptr_t file) { return (HANDLE)file; }

static bool told(const er_locked *l, const char *what)
{
    return er_refuse(l->error, ER_NOT_KEPT, "%s: cannot be %s (error %lu); what was in it is kept; make room or get the right to it, and try again",
                     l->shown.at, what, (unsigned long)GetLastError());
}

static bool wide(const char *path, const char *behind, wchar_t into[MOST_PATH + 32])
{
    const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, into, MOST_PATH);
    if (length <= 0) return SetLastError(ERROR_INVALID_NAME), false;
    for (int i = 0; behind[i] || !(into[length - 1 + i] = 0); i++) into[length - 1 + i] = (wchar_t)behind[i];
    return true;
}

static bool identity(intptr_t file, er_stamp *stamp)
{
    BY_HANDLE_FILE_INFORMATION info;
    if (!GetFileInformationByHandle(handle(file), &info) || (info.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) ||
        GetFileType(handle(file)) != FILE_TYPE_DISK)
        return false;
    stamp->id[0] = info.dwVolumeSerialNumber;
    stamp->id[1] = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
    stamp->size = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    return true;
}

static intptr_t open_regular(const er_locked *l, const char *behind, DWORD rights, DWORD how, bool *missing)
{
    wchar_t path[MOST_PATH + 32];
    er_stamp stamp;
    *missing = false;
    if (!wide(l->path, behind, path)) return er_refuse(l->error, ER_NO_FILE, "%s: no path", l->shown.at), CLOSED;
    HANDLE file = CreateFileW(path, rights, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, how, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        *missing = GetLastError() == ERROR_FILE_NOT_FOUND || GetLastError() == ERROR_PATH_NOT_FOUND;
        if (!*missing) er_refuse(l->error, ER_NO_FILE, "%s: cannot be opened (error %lu); name a file that you may write", l->shown.at, (unsigned long)GetLastError());
        return CLOSED;
    }
    if (identity((intptr_t)file, &stamp)) return (intptr_t)file;
    CloseHandle(file);
    return er_refuse(l->error, ER_NO_FILE, "%s: not a regular file; name another one", l->shown.at), CLOSED;
}

bool er_locked_open(er_locked *l, const char *path, double wait_s, er_error *error)
{
    *l = (er_locked){path, er_show((er_text){path, strlen(path)}), CLOSED, CLOSED, error};
    bool missing;
    l->lock = open_regular(l, ".lock", GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, &missing);
    for (const ULONGLONG until = GetTickCount64() + (ULONGLONG)(wait_s * 1000.0); l->lock != CLOSED;) {
        if (LockFile(handle(l->lock), 0, 0, 1, 0)) {
            l->file = open_regular(l, "", GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, &missing);
            if (l->file != CLOSED) return true;
            break;
        }
        if (GetTickCount64() >= until) {
            er_refuse(error, ER_NOT_KEPT, "%s: another one is writing to it (waited %g s); end that one, or wait longer", l->shown.at, wait_s);
            break;
        }
        unsigned drawn = 0; /* at one rhythm, some of many would never have luck */
        rand_s(&drawn);
        Sleep(LEAST_WAIT_MS + drawn % (MOST_WAIT_MS - LEAST_WAIT_MS));
    }
    er_locked_close(l);
    return er_refuse(error, ER_NO_FILE, "%s: there is no such folder; make it, or name another file", l->shown.at);
}

void er_locked_close(er_locked *l)
{
    if (l->file != CLOSED) CloseHandle(handle(l->file));
    if (l->lock != CLOSED) {
        UnlockFile(handle(l->lock), 0, 0, 1, 0);
        CloseHandle(handle(l->lock));
    }
    l->file = l->lock = CLOSED;
}

static bool read_at(intptr_t file, void *into, uint64_t length, uint64_t at)
{
    OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
    DWORD done = 0;
    return ReadFile(handle(file), into, (DWORD)length, &done, &place) && done == length;
}

bool er_locked_unchanged(const er_locked *l, const er_stamp *stamp)
{
    er_stamp here;
    return stamp->known && identity(l->file, &here) && here.id[0] == stamp->id[0] && here.id[1] == stamp->id[1] && here.size == stamp->size &&
           read_at(l->file, here.end, sizeof here.end, here.size - sizeof here.end) && !memcmp(here.end, stamp->end, sizeof here.end);
}

bool er_locked_read(const er_locked *l, er_arena *arena, uint64_t most, er_text *found)
{
    er_stamp here;
    if (!identity(l->file, &here)) return told(l, "read");
    if (here.size > most)
        return er_refuse(l->error, ER_BAD_OVERLAY, "%s: expected %llu bytes at most, found %llu; nothing was changed; move it away", l->shown.at,
                         (unsigned long long)most, (unsigned long long)here.size);
    char *bytes = ER_TAKE(arena, char, here.size + 1);
    *found = (er_text){bytes, (size_t)here.size};
    return bytes && (!here.size || read_at(l->file, bytes, here.size, 0) || told(l, "read"));
}

static bool write_at(intptr_t file, const void *bytes, size_t length, uint64_t at)
{
    OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
    DWORD done = 0;
    return WriteFile(handle(file), bytes, (DWORD)length, &done, &place) && done == length && FlushFileBuffers(handle(file));
}

bool er_locked_put(const er_locked *l, const void *bytes, size_t length, uint64_t at)
{
    if (write_at(l->file, bytes, length, at)) return true;
    told(l, "written");
    er_locked_cut(l, at); /* or else the next one finds a torn tail, and cuts that off */
    return false;
}

bool er_locked_cut(const er_locked *l, uint64_t size)
{
    LARGE_INTEGER end = {.QuadPart = (LONGLONG)size};
    return (SetFilePointerEx(handle(l->file), end, NULL, FILE_BEGIN) && SetEndOfFile(handle(l->file)) && FlushFileBuffers(handle(l->file))) || told(l, "written");
}

bool er_locked_settle(const er_locked *l, er_stamp *stamp)
{
    wchar_t path[MOST_PATH + 32], pattern[2 * MOST_PATH];
    if (!wide(l->path, "", path)) return told(l, "written");
    wchar_t *name = path;
    for (wchar_t *c = path; *c; c++)
        if (*c == L'/' || *c == L'\\') name = c + 1;
    const int folder = (int)(name - path);
    WIN32_FIND_DATAW found;
    _snwprintf(pattern, 2 * MOST_PATH - 1, L"%.*ls.%ls.????????.partial", folder, path, name);
    pattern[2 * MOST_PATH - 1] = 0;
    HANDLE list = FindFirstFileW(pattern, &found);
    for (bool more = list != INVALID_HANDLE_VALUE; more; more = FindNextFileW(list, &found)) {
        if (found.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) continue;
        _snwprintf(pattern, 2 * MOST_PATH - 1, L"%.*ls%ls", folder, path, found.cFileName);
        DeleteFileW(pattern);
    }
    if (list != INVALID_HANDLE_VALUE) FindClose(list);
    er_stamp here;
    if (!FlushFileBuffers(handle(l->file)) || !identity(l->file, &here)) return told(l, "written");
    stamp->id[0] = here.id[0];
    stamp->id[1] = here.id[1];
    return true;
}

bool er_locked_replace(er_locked *l, const void *bytes, size_t length)
{
    wchar_t path[MOST_PATH + 32], beside[2 * MOST_PATH];
    unsigned drawn = 0;
    bool missing;
    if (rand_s(&drawn) || !wide(l->path, "", path)) return told(l, "written");
    wchar_t *name = path;
    for (wchar_t *c = path; *c; c++)
        if (*c == L'/' || *c == L'\\') name = c + 1;
    _snwprintf(beside, 2 * MOST_PATH - 1, L"%.*ls.%ls.%08x.partial", (int)(name - path), path, name, drawn);
    beside[2 * MOST_PATH - 1] = 0;
    HANDLE file = CreateFileW(beside, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) return told(l, "written");
    bool fine = write_at((intptr_t)file, bytes, length, 0);
    CloseHandle(file);
    if (fine) {
        CloseHandle(handle(l->file)); /* under the lock beside it */
        fine = MoveFileExW(beside, path, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH);
        if (!fine) told(l, "written");
        l->file = open_regular(l, "", GENERIC_READ | GENERIC_WRITE, OPEN_EXISTING, &missing);
    } else
        told(l, "written");
    if (!fine) DeleteFileW(beside);
    return fine && l->file != CLOSED;
}

bool er_file_read(er_arena *arena, const char *path, uint64_t most, er_text *found)
{
    er_locked l = {path, er_show((er_text){path, strlen(path)}), CLOSED, CLOSED, arena->error};
    bool missing;
    l.file = open_regular(&l, "", GENERIC_READ, OPEN_EXISTING, &missing);
    *found = (er_text){"", 0};
    if (l.file == CLOSED) return missing;
    const bool fine = er_locked_read(&l, arena, most, found);
    er_locked_close(&l);
    return fine;
}

bool er_random(void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned drawn;
        if (rand_s(&drawn)) return false;
        ((uint8_t *)bytes)[i] = (uint8_t)drawn;
    }
    return true;
}

#else
typedef int er_no_locked_windows;
#endif
