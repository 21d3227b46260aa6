/* Disks of POSIX systems. */

#if !defined(_WIN32) && !defined(__wasm__) && !defined(ER_NO_FILES)

#define _POSIX_C_SOURCE 200809L
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif

#include "disk.h"

#include "format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PATH = 4096 };

static bool told(er_error *error, const char *path)
{
    const char *why = strerror(errno);
    return er_refuse(error, ER_NOT_KEPT, "%s: cannot be written (%s); what was there is kept; make room or get the right to it, and try again",
                     er_show((er_text){path, strlen(path)}).at, why);
}

static bool flush(int file)
{
#ifdef F_FULLFSYNC /* macOS, whose fsync leaves the bytes in the disk's own memory */
    if (!fcntl(file, F_FULLFSYNC)) return true;
#endif
    return !fsync(file);
}

bool er_disk_folder(er_error *error, const char *path)
{
    struct stat status;
    if (!mkdir(path, 0700)) return true;
    const bool there = errno == EEXIST && !stat(path, &status) && S_ISDIR(status.st_mode);
    return there || told(error, path);
}

bool er_disk_write(er_error *error, const char *path, const void *bytes, size_t length)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return told(error, path);
    size_t done = 0;
    bool fine = true;
    while (fine && done < length) {
        const ssize_t more = write(file, (const char *)bytes + done, length - done);
        if (more > 0) done += (size_t)more;
        else fine = more < 0 && errno == EINTR;
    }
    fine = (fine && flush(file)) || told(error, path);
    if (close(file) && fine) fine = told(error, path); /* where a file system tells only then that there was no room */
    if (!fine) unlink(path);
    return fine;
}

bool er_disk_flush(er_error *error, const char *folder)
{
    const int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool fine = (opened >= 0 && flush(opened)) || told(error, folder);
    if (opened >= 0) close(opened);
    return fine;
}

bool er_disk_rename(er_error *error, const char *folder, const char *from, const char *to)
{
    return rename(from, to) ? told(error, to) : er_disk_flush(error, folder);
}

bool er_disk_there(const char *path)
{
    struct stat status;
    return !lstat(path, &status);
}

void er_disk_remove(const char *path)
{
    char inner[MOST_PATH];
    struct stat status;
    if (lstat(path, &status)) return;
    if (!S_ISDIR(status.st_mode)) {
        unlink(path);
        return;
    }
    DIR *list = opendir(path);
    for (const struct dirent *one; list && (one = readdir(list));)
        if (strlen(path) + 1 + strlen(one->d_name) < MOST_PATH) {
            er_format(inner, sizeof inner, "%s/%s", path, one->d_name);
            if (!lstat(inner, &status) && !S_ISDIR(status.st_mode)) unlink(inner);
        }
    if (list) closedir(list);
    rmdir(path);
}

bool er_disk_names(er_arena *arena, const char *folder, const er_text **names, uint32_t *count)
{
    enum { MOST = 1 << 16 };
    DIR *list = opendir(folder);
    if (!list) return told(arena->error, folder);
    uint32_t found = 0, room = 0;
    er_text *made = NULL;
    bool fine = true;
    for (const struct dirent *one; fine && found < MOST && (one = readdir(list));) {
        const size_t length = strlen(one->d_name);
        if (!strcmp(one->d_name, ".") || !strcmp(one->d_name, "..")) continue;
        if (found == room) {
            er_text *larger = ER_TAKE(arena, er_text, room = room ? 2 * room : 64);
            if ((fine = larger != NULL) && found) memcpy(larger, made, found * sizeof *made);
            made = larger;
        }
        char *name = fine ? ER_TAKE(arena, char, length + 1) : NULL;
        if ((fine = name != NULL)) made[found++] = (er_text){memcpy(name, one->d_name, length + 1), length};
    }
    closedir(list);
    *names = made;
    *count = found;
    return fine;
}

#else
typedef int er_no_disk; /* ISO C wants something in a file */
#endif
