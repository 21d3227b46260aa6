/* Folders of POSIX systems. */

#if !defined(_WIN32) && !defined(__wasm__) && !defined(ER_NO_FILES)

#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* madvise */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif

#include "folder.h"
#include "format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PATH = 4096, MOST_LINK = 1024, MOST_LINKS = 8, ATTEMPTS = 100, WORTH_IT = 1 << 20 };

static const int FILE_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC; /* a pipe in a file's place must not make us wait */
static const int FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct er_folder {
    int descriptor;
    dev_t device;
    ino_t inode;
    char path[MOST_PATH], version[MOST_LINK]; /* version: where `..data` leads, which a Kubernetes volume exchanges */
};

/* What a link says; empty for anything else. */
static void link_text(int folder, const char *name, char text[MOST_LINK])
{
    const ssize_t length = readlinkat(folder, name, text, MOST_LINK - 1);
    text[length > 0 ? length : 0] = 0;
}

/* `.NAME.replaced`, where a folder waits while another one takes its place. */
static bool set_aside(const char *path, char aside[MOST_PATH])
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    size_t name = length;
    while (name && path[name - 1] != '/') name--;
    if (name == length || length + 12 > MOST_PATH) return false;
    er_format(aside, MOST_PATH, "%.*s.%.*s.replaced", (int)name, path, (int)(length - name), path + name);
    return true;
}

er_folder *er_folder_open(er_arena *arena, const char *path)
{
    const er_shown shown = er_show((er_text){path, strlen(path)});
    er_folder *folder = ER_TAKE(arena, er_folder, 1);
    if (!folder) return NULL;
    char aside[MOST_PATH];
    const bool can_wait = set_aside(path, aside);
    if (strlen(path) >= MOST_PATH) return er_refuse(arena->error, ER_NO_FILE, "%s: too long for a path", shown.at), NULL;
    folder->descriptor = -1;
    for (int i = 0; i < ATTEMPTS && folder->descriptor < 0; i++) {
        /* Looked for in turn: a writer that was killed between its two renames leaves the old folder aside, and a living one
           soon has the new one in place. */
        er_format(folder->path, sizeof folder->path, "%s", i % 2 && can_wait ? aside : path);
        folder->descriptor = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder->descriptor >= 0) break;
        struct stat nothing;
        if (errno != ENOENT) {
            const bool file = errno == ENOTDIR;
            er_refuse(arena->error, ER_NO_FILE, "%s: not a bundle (%s); name its folder", shown.at, file ? "no folder" : strerror(errno));
            return NULL;
        }
        if (i && lstat(path, &nothing) && (!can_wait || lstat(aside, &nothing))) break;
    }
    struct stat status;
    if (folder->descriptor < 0 || fstat(folder->descriptor, &status)) {
        er_refuse(arena->error, ER_NO_FILE, "%s: not a bundle (no such folder); make one with: edgeret-export build -o %s", shown.at, shown.at);
        er_folder_close(folder);
        return NULL;
    }
    folder->device = status.st_dev;
    folder->inode = status.st_ino;
    link_text(folder->descriptor, "..data", folder->version);
    return folder;
}

void er_folder_close(er_folder *folder)
{
    if (folder && folder->descriptor >= 0) close(folder->descriptor);
}

bool er_folder_replaced(const er_folder *folder)
{
    struct stat status;
    if (stat(folder->path, &status)) return true;
    char place[MOST_PATH + 8], version[MOST_LINK];
    er_format(place, sizeof place, "%s/..data", folder->path);
    link_text(AT_FDCWD, place, version);
    return status.st_dev != folder->device || status.st_ino != folder->inode || strcmp(version, folder->version) != 0;
}

/* ---- Links (section 11) ---- */

/* `../…/blobs/HEX` with 2 to 8 steps up; their number, 0 for anything else. */
static int steps_to_blob(const char *target, const char **blob)
{
    int steps = 0;
    for (; !strncmp(target, "../", 3); target += 3) steps++;
    if (steps < 2 || steps > 8 || strncmp(target, "blobs/", 6)) return 0;
    *blob = target + 6;
    const size_t digits = strspn(*blob, "0123456789abcdef");
    return digits >= 40 && digits <= 64 && !(*blob)[digits] ? steps : 0;
}

static int step(int from, const char *name, int *opened)
{
    const int next = openat(from, name, FOLDER_FLAGS);
    if (*opened >= 0) close(*opened);
    return *opened = next;
}

/* The file of the hub's cache that a link in the folder leads to: so many steps up, of which the last but one comes out of
   `snapshots` beside `blobs`. */
static int open_blob(int folder, int steps, const char *blob)
{
    int opened = -1, here = folder;
    struct stat below, snapshots;
    for (int i = 0; i + 1 < steps; i++)
        if ((here = step(here, "..", &opened)) < 0) return -1;
    int found = -1, other = -1;
    const bool known = !fstat(here, &below);
    if ((here = step(here, "..", &opened)) >= 0) {
        other = openat(here, "snapshots", FOLDER_FLAGS);
        const bool beside =
            known && other >= 0 && !fstat(other, &snapshots) && below.st_dev == snapshots.st_dev && below.st_ino == snapshots.st_ino;
        if (!beside) errno = ELOOP;
        else if ((here = step(here, "blobs", &opened)) >= 0) found = openat(here, blob, FILE_FLAGS);
    }
    const int why = errno;
    if (other >= 0) close(other);
    if (opened >= 0) close(opened);
    errno = why;
    return found;
}

/* Part by part, each opened relative to the folder before it, so that nothing leads out that was put there meanwhile. */
static int open_linked(int folder, const char *name)
{
    char ahead[2 * MOST_LINK], target[MOST_LINK], rest[MOST_LINK];
    if (strlen(name) >= MOST_LINK) return errno = ENAMETOOLONG, -1;
    strcpy(ahead, name);
    int here = folder, opened = -1, found = -1;
    for (int links = 0; links <= MOST_LINKS;) {
        char *slash = strchr(ahead, '/');
        if (slash) *slash = 0;
        link_text(here, ahead, target);
        const char *blob;
        const int steps = here == folder && !slash ? steps_to_blob(target, &blob) : 0;
        if (!target[0]) {
            if (!slash) {
                found = openat(here, ahead, FILE_FLAGS);
                break;
            }
            if ((here = step(here, ahead, &opened)) < 0) break;
            memmove(ahead, slash + 1, strlen(slash + 1) + 1);
            continue;
        }
        if (steps) {
            found = open_blob(folder, steps, blob);
            break;
        }
        bool inside = ++links <= MOST_LINKS;
        for (const char *part = target; part && inside; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
            const size_t length = strcspn(part, "/");
            inside = length && !(length == 1 && part[0] == '.') && !(length == 2 && !strncmp(part, "..", 2));
        }
        er_format(rest, sizeof rest, "%s", slash ? slash + 1 : "");
        if (!inside || er_format(ahead, sizeof ahead, "%s%s%s", target, slash ? "/" : "", rest) >= MOST_LINK) {
            errno = ELOOP;
            break;
        }
    }
    const int why = errno;
    if (opened >= 0) close(opened);
    errno = why;
    return found;
}

/* ---- Files ---- */

static bool read_all(int file, char *into, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t more = read(file, into + done, length - done);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) return false;
        done += (size_t)more;
    }
    return true;
}

bool er_folder_map(er_arena *arena, const er_folder *folder, er_text name, uint64_t most, const char *remedy, er_mapped *found)
{
    char file[128], shown[300];
    if (name.length >= sizeof file) return er_refuse(arena->error, ER_BAD_BUNDLE, "a file's name is too long; %s", remedy);
    memcpy(file, name.at, name.length);
    file[name.length] = 0;
    er_format(shown, sizeof shown, "%s/%s", er_show((er_text){folder->path, strlen(folder->path)}).at, file);
    int descriptor = openat(folder->descriptor, file, FILE_FLAGS);
    if (descriptor < 0 && (errno == ELOOP || errno == EMLINK)) descriptor = open_linked(folder->descriptor, file);
    if (descriptor < 0)
        return errno == ENOENT ? er_refuse(arena->error, ER_NO_FILE, "%s: missing; %s", shown, remedy)
                               : er_refuse(arena->error, ER_NO_FILE, "%s: cannot be read (%s); %s", shown, strerror(errno), remedy);
    struct stat status;
    bool fine = !fstat(descriptor, &status);
    if (!fine) er_refuse(arena->error, ER_NO_FILE, "%s: cannot be read (%s); %s", shown, strerror(errno), remedy);
    else if (!S_ISREG(status.st_mode))
        fine = er_refuse(arena->error, ER_BAD_BUNDLE, "%s: %s; %s", shown, S_ISDIR(status.st_mode) ? "a folder" : "not a regular file", remedy);
    else if ((uint64_t)status.st_size > most || (uint64_t)status.st_size > SIZE_MAX / 4)
        fine = er_refuse(arena->error, ER_BAD_BUNDLE, "%s: expected %llu bytes at most, found %llu; %s", shown, (unsigned long long)most,
                         (unsigned long long)status.st_size, remedy);
    *found = (er_mapped){"", 0, NULL};
    if (fine && status.st_size) {
        const size_t length = (size_t)status.st_size;
        void *map = mmap(NULL, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (map != MAP_FAILED) *found = (er_mapped){map, length, map};
        else {
            char *copy = er_take(arena, length, 1); /* some file systems cannot map */
            fine = copy && (read_all(descriptor, copy, length) ||
                            er_refuse(arena->error, ER_NO_FILE, "%s: cannot be read to its end; %s", shown, remedy));
            *found = (er_mapped){copy, length, NULL};
        }
    }
    close(descriptor);
    return fine;
}

void er_idle(const er_mapped *file)
{
#ifdef MADV_DONTNEED
    if (file->map && file->length >= WORTH_IT) madvise(file->map, file->length, MADV_DONTNEED);
#else
    (void)file;
#endif
}

void er_unmap(er_mapped *file)
{
    if (file->map) munmap(file->map, file->length);
    file->map = NULL;
}

#else
typedef int er_no_folder; /* ISO C wants something in a file */
#endif
