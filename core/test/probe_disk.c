/* Calls that change a disk, counted: for tests/core/core_store.py, which builds disk.c with -Dwrite=probe_write and the like. At the call
   that is named the process is killed, where it writes half way through; or from it on nothing has room any more. */

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static long fatal, full, calls, writes;

/* The fatal one of all calls, and of those that write the first one without room; 0: never. */
void probe_disk(long fatal_call, long full_from);
ssize_t probe_write(int, const void *, size_t);
int probe_fsync(int);
int probe_rename(const char *, const char *);
int probe_mkdir(const char *, mode_t);
int probe_unlink(const char *);
int probe_rmdir(const char *);

void probe_disk(long fatal_call, long full_from)
{
    fatal = fatal_call, full = full_from, calls = writes = 0;
}

static int dies(void) { return ++calls == fatal; }
static int no_room(void) { return full && writes >= full; }

ssize_t probe_write(int file, const void *bytes, size_t length)
{
    const int last = dies();
    writes++;
    const ssize_t done = last || no_room() ? write(file, bytes, length / 2) : write(file, bytes, length);
    if (last) kill(getpid(), SIGKILL);
    if (no_room()) return errno = ENOSPC, -1;
    return done;
}

#define COUNTED(call) (dies() ? kill(getpid(), SIGKILL) : (call))

int probe_fsync(int file) { return COUNTED(fsync(file)); }
int probe_rename(const char *from, const char *to) { return COUNTED(rename(from, to)); }
int probe_mkdir(const char *path, mode_t mode) { return COUNTED(mkdir(path, mode)); }
int probe_unlink(const char *path) { return COUNTED(unlink(path)); }
int probe_rmdir(const char *path) { return COUNTED(rmdir(path)); }
