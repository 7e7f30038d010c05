/* Make calls on files below a folder fail, as a full, broken or exhausted system does. For LD_PRELOAD.

   FAULT_BELOW is the folder, FAULT_ERRNO the error's number. Calls FAULT_FROM to FAULT_FROM + FAULT_COUNT of each
   process fail: opens if the error is EMFILE, else writes and syncs.

   After CLOCK_FROM readings in a process, its clock of the day jumps by CLOCK_JUMP seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static const char *folder;
static int error;
static long from, count, jump, jump_from;
static atomic_long calls, readings;

static long number(const char *name) { return atol(getenv(name) ? getenv(name) : "0"); }

__attribute__((constructor)) static void prepare(void) {
    folder = getenv("FAULT_BELOW");
    error = (int)number("FAULT_ERRNO");
    from = number("FAULT_FROM");
    count = number("FAULT_COUNT");
    jump = number("CLOCK_JUMP");
    jump_from = number("CLOCK_FROM");
}

static int below(const char *path) { return folder && error && path && !strncmp(path, folder, strlen(folder)); }

static int due(void) {
    long call = atomic_fetch_add(&calls, 1);
    return call >= from && call < from + count;
}

static int fails(int file) {
    char link[64], path[PATH_MAX];
    if (!folder || !error || error == EMFILE) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!below(path) || !due()) return 0;
    errno = error;
    return 1;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int file, const void *data, size_t size) { REAL(write); return fails(file) ? -1 : real(file, data, size); }
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    return fails(file) ? -1 : real(file, data, size, at);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    return fails(file) ? -1 : real(file, data, size, at);
}
int ftruncate64(int file, off64_t size) { REAL(ftruncate64); return fails(file) ? -1 : real(file, size); }
int fsync(int file) { REAL(fsync); return fails(file) ? -1 : real(file); }
int fdatasync(int file) { REAL(fdatasync); return fails(file) ? -1 : real(file); }

static int refused(const char *path) {
    if (error != EMFILE || !below(path) || !due()) return 0;
    errno = EMFILE;
    return 1;
}

#define MODE(last) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, last); mode = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { REAL(open); MODE(flags); return refused(path) ? -1 : real(path, flags, mode); }
int open64(const char *path, int flags, ...) {
    REAL(open64);
    MODE(flags);
    return refused(path) ? -1 : real(path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
    REAL(openat);
    MODE(flags);
    return refused(path) ? -1 : real(at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
    REAL(openat64);
    MODE(flags);
    return refused(path) ? -1 : real(at, path, flags, mode);
}

static long shift(void) { return jump && atomic_fetch_add(&readings, 1) >= jump_from ? jump : 0; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int result = real(clock, now);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
    return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(gettimeofday);
    int result = real(now, zone);
    if (!result) now->tv_sec += shift();
    return result;
}
time_t time(time_t *now) {
    REAL(time);
    time_t result = real(NULL) + shift();
    if (now) *now = result;
    return result;
}
