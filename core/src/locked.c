/* Files of POSIX systems: the file itself is locked. */

#if !defined(_WIN32) && !defined(__wasm__) && !defined(ER_NO_FILES)

#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* flock */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif

#include "locked.h"
#include "format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PATH = 4096, RANDOM = 8, LEAST_WAIT_MS = 2, MOST_WAIT_MS = 20 };
static const int SAFE = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC; /* a pipe in the file's place must not make us wait */

static bool told(const er_locked *l, const char *what)
{
    return er_refuse(l->error, ER_NOT_KEPT, "%s: cannot be %s (%s); what was in it is kept; make room or get the right to it, and try again", l->shown.at,
                     what, strerror(errno));
}

/* −1: refused; or with `missing` not there. */
static int open_regular(const er_locked *l, const char *path, int flags, bool *missing)
{
    struct stat status;
    const int file = open(path, flags | SAFE, 0600);
    *missing = file < 0 && errno == ENOENT;
    if (file >= 0 && !fstat(file, &status) && S_ISREG(status.st_mode)) return file;
    if (file >= 0) {
        close(file);
        er_refuse(l->error, ER_NO_FILE, "%s: not a regular file; name another one", l->shown.at);
    } else if (!*missing)
        er_refuse(l->error, ER_NO_FILE, "%s: cannot be opened (%s); name a file that you may write", l->shown.at, strerror(errno));
    return -1;
}

static bool in_place(const er_locked *l)
{
    struct stat here, ours;
    return !lstat(l->path, &here) && !fstat((int)l->file, &ours) && here.st_dev == ours.st_dev && here.st_ino == ours.st_ino;
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

bool er_locked_open(er_locked *l, const char *path, double wait_s, er_error *error)
{
    *l = (er_locked){path, er_show((er_text){path, strlen(path)}), -1, -1, error};
    for (const double until = now() + wait_s;;) {
        bool missing;
        l->file = open_regular(l, path, O_RDWR | O_CREAT, &missing);
        if (l->file < 0) return missing ? er_refuse(error, ER_NO_FILE, "%s: there is no such folder; make it, or name another file", l->shown.at) : false;
        if (!flock((int)l->file, LOCK_EX | LOCK_NB)) {
            if (in_place(l)) return true; /* else it was exchanged meanwhile */
        } else if (errno != EWOULDBLOCK && errno != EINTR) {
            er_refuse(error, ER_NOT_KEPT, "%s: cannot be locked (%s); name a file on a disk that has locks", l->shown.at, strerror(errno));
            return er_locked_close(l), false;
        }
        er_locked_close(l);
        if (now() >= until)
            return er_refuse(error, ER_NOT_KEPT, "%s: another one is writing to it (waited %g s); end that one, or wait longer", l->shown.at, wait_s);
        uint8_t drawn = 0; /* at one rhythm, some of many would never have luck */
        er_random(&drawn, 1);
        const struct timespec pause = {0, (LEAST_WAIT_MS * 1000000L + drawn * ((MOST_WAIT_MS - LEAST_WAIT_MS) * 1000000L / 255))};
        nanosleep(&pause, NULL);
    }
}

void er_locked_close(er_locked *l)
{
    if (l->file >= 0) close((int)l->file); /* which ends the lock */
    l->file = -1;
}

bool er_locked_unchanged(const er_locked *l, const er_stamp *stamp)
{
    struct stat status;
    uint8_t end[sizeof stamp->end];
    return stamp->known && !fstat((int)l->file, &status) && (uint64_t)status.st_dev == stamp->id[0] && (uint64_t)status.st_ino == stamp->id[1] &&
           (uint64_t)status.st_size == stamp->size && pread((int)l->file, end, sizeof end, (off_t)(stamp->size - sizeof end)) == (ssize_t)sizeof end &&
           !memcmp(end, stamp->end, sizeof end);
}

static bool read_whole(const er_locked *l, int file, er_arena *arena, uint64_t most, er_text *found)
{
    struct stat status;
    if (fstat(file, &status)) return told(l, "read");
    const uint64_t size = (uint64_t)status.st_size;
    if (size > most)
        return er_refuse(l->error, ER_BAD_OVERLAY, "%s: expected %llu bytes at most, found %llu; nothing was changed; move it away", l->shown.at,
                         (unsigned long long)most, (unsigned long long)size);
    char *bytes = ER_TAKE(arena, char, size + 1);
    size_t done = 0;
    while (bytes && done < size) {
        const ssize_t more = pread(file, bytes + done, size - done, (off_t)done);
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return told(l, "read");
        if (!more) break;
        done += (size_t)more;
    }
    *found = (er_text){bytes, done};
    return bytes != NULL;
}

bool er_locked_read(const er_locked *l, er_arena *arena, uint64_t most, er_text *found) { return read_whole(l, (int)l->file, arena, most, found); }

static bool flush(int file)
{
#ifdef F_FULLFSYNC /* macOS, whose fsync leaves the bytes in the disk's own memory */
    if (!fcntl(file, F_FULLFSYNC)) return true;
#endif
    return !fsync(file);
}

static bool write_at(int file, const void *bytes, size_t length, uint64_t at)
{
    for (size_t done = 0; done < length;) {
        const ssize_t more = pwrite(file, (const char *)bytes + done, length - done, (off_t)(at + done));
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) return false;
        done += (size_t)more;
    }
    return flush(file);
}

bool er_locked_put(const er_locked *l, const void *bytes, size_t length, uint64_t at)
{
    if (!in_place(l)) return er_refuse(l->error, ER_NOT_KEPT, "%s: moved, deleted or replaced since it was opened; try again", l->shown.at);
    if (write_at((int)l->file, bytes, length, at)) return true;
    told(l, "written");
    er_locked_cut(l, at); /* or else the next one finds a torn tail, and cuts that off */
    return false;
}

bool er_locked_cut(const er_locked *l, uint64_t size)
{
    return (!ftruncate((int)l->file, (off_t)size) && flush((int)l->file)) || told(l, "written");
}

/* The file's folder, and its name in it. */
static const char *folder_of(const char *path, char folder[MOST_PATH])
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash ? (size_t)(slash - path) : 0;
    er_format(folder, MOST_PATH, "%.*s", (int)(slash ? (length ? length : 1) : 1), slash ? path : ".");
    return slash ? slash + 1 : path;
}

bool er_locked_settle(const er_locked *l, er_stamp *stamp)
{
    char folder[MOST_PATH], beside[MOST_PATH + 300];
    const char *name = folder_of(l->path, folder);
    const size_t length = strlen(name), whole = length + 1 + 1 + RANDOM + strlen(".partial");
    struct stat status;
    DIR *list = opendir(folder);
    for (const struct dirent *one; list && (one = readdir(list));) {
        const char *found = one->d_name;
        if (strlen(found) != whole || found[0] != '.' || strncmp(found + 1, name, length) || found[length + 1] != '.' ||
            strcmp(found + length + 2 + RANDOM, ".partial"))
            continue;
        er_format(beside, sizeof beside, "%s/%s", folder, found);
        if (!lstat(beside, &status) && S_ISREG(status.st_mode)) unlink(beside);
    }
    if (list) closedir(list);
    const int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool fine = opened >= 0 && flush((int)l->file) && flush(opened) && !fstat((int)l->file, &status);
    if (!fine) told(l, "written");
    if (opened >= 0) close(opened);
    if (fine) stamp->id[0] = (uint64_t)status.st_dev, stamp->id[1] = (uint64_t)status.st_ino;
    return fine;
}

bool er_locked_replace(er_locked *l, const void *bytes, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    char folder[MOST_PATH], beside[MOST_PATH + 300];
    uint8_t drawn[RANDOM];
    const char *name = folder_of(l->path, folder);
    if (!in_place(l)) return er_refuse(l->error, ER_NOT_KEPT, "%s: moved, deleted or replaced since it was opened; try again", l->shown.at);
    if (!er_random(drawn, sizeof drawn)) return told(l, "written");
    for (int i = 0; i < RANDOM; i++) drawn[i] = (uint8_t)letters[drawn[i] % 32];
    er_format(beside, sizeof beside, "%s/.%s.%.*s.partial", folder, name, RANDOM, (const char *)drawn);
    const int file = open(beside, O_RDWR | O_CREAT | O_EXCL | SAFE, 0600);
    if (file < 0) return told(l, "written");
    if (!write_at(file, bytes, length, 0) || flock(file, LOCK_EX | LOCK_NB) || rename(beside, l->path)) {
        told(l, "written");
        close(file);
        unlink(beside);
        return false;
    }
    er_locked_close(l);
    l->file = file;
    return true;
}

bool er_file_read(er_arena *arena, const char *path, uint64_t most, er_text *found)
{
    const er_locked l = {path, er_show((er_text){path, strlen(path)}), -1, -1, arena->error};
    bool missing;
    const int file = open_regular(&l, path, O_RDONLY, &missing);
    *found = (er_text){"", 0};
    if (file < 0) return missing;
    const bool fine = read_whole(&l, file, arena, most, found);
    close(file);
    return fine;
}

bool er_random(void *bytes, size_t length)
{
    const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    const bool fine = file >= 0 && read(file, bytes, length) == (ssize_t)length;
    if (file >= 0) close(file);
    return fine;
}

#else
typedef int er_no_locked;
#endif
