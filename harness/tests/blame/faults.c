/* Faults of a host that nothing else puts in without privileges: preloaded into a program, this lets the calendar's
 * clock jump, and the opening of a port hang.
 *
 * TEST_CLOCK is a file with the seconds by which the clock is wrong, once there is such a file. TEST_HANGS is the name
 * of a file: while a file `hangs` is there, whoever opens it waits for ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long wrong_by(void)
{
    const char *path = getenv("TEST_CLOCK");
    FILE *file = path ? fopen(path, "r") : NULL;
    long seconds = 0;
    if (file) {
        if (fscanf(file, "%ld", &seconds) != 1)
            seconds = 0;
        fclose(file);
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(clock, now);
    if (!done && clock == CLOCK_REALTIME)
        now->tv_sec += wrong_by();
    return done;
}

static void perhaps_hang(const char *path)
{
    const char *port = getenv("TEST_HANGS");
    size_t length = strlen(path), own = port ? strlen(port) : 0;
    if (port && length >= own && !strcmp(path + length - own, port) && !access("hangs", F_OK))
        for (;;)
            pause();
}

#define OPENS(name)                                                                                                    \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        static int (*real)(const char *, int, ...);                                                                    \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        int mode = va_arg(more, int);                                                                                  \
        va_end(more);                                                                                                  \
        if (!real)                                                                                                     \
            real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);                                           \
        perhaps_hang(path);                                                                                            \
        return real(path, flags, mode);                                                                                \
    }

OPENS(open)
OPENS(open64)
