/* The lines DTR and RTS of a pseudo terminal, which has none: preloaded into a program, this takes its orders for
 * the lines of the board's port and passes each on to the board, a datagram for each in their order:
 * "<dtr> <rts> <nanoseconds of the monotonic clock>". The board answers each when it has obeyed.
 *
 * TEST_BOARD_PORT is the port, TEST_BOARD_LINES the abstract name of the board's socket. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int lines;

static int is_board(int fd)
{
    const char *path = getenv("TEST_BOARD_PORT");
    struct stat port, asked;
    return path && !stat(path, &port) && !fstat(fd, &asked) && S_ISCHR(asked.st_mode)
        && asked.st_rdev == port.st_rdev;
}

static int set(int wanted)
{
    struct sockaddr_un board = {.sun_family = AF_UNIX}, any = board;
    const char *name = getenv("TEST_BOARD_LINES");
    struct timespec now;
    struct timeval patience = {.tv_sec = 10};
    char text[64];
    int sent = -1, out = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    lines = wanted & (TIOCM_DTR | TIOCM_RTS);
    clock_gettime(CLOCK_MONOTONIC, &now);
    int length = snprintf(text, sizeof text, "%d %d %lld", !!(lines & TIOCM_DTR), !!(lines & TIOCM_RTS),
                          now.tv_sec * 1000000000LL + now.tv_nsec);
    /* Without a name, the system chooses one: where the answer goes. */
    if (name && strlen(name) < sizeof board.sun_path - 1 && out >= 0
        && !setsockopt(out, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience)
        && !bind(out, (struct sockaddr *)&any, sizeof any.sun_family)) {
        memcpy(board.sun_path + 1, name, strlen(name));
        sent = sendto(out, text, length, 0, (struct sockaddr *)&board,
                      offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
        if (sent >= 0)
            sent = recv(out, text, sizeof text, 0);
    }
    if (out >= 0)
        close(out);
    return sent < 0 ? -1 : 0;
}

int ioctl(int fd, unsigned long request, ...)
{
    static int (*system_call)(int, unsigned long, void *);
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (!system_call)
        system_call = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
    if (request == TIOCEXCL && is_board(fd)) {
        /* The first order after it was opened: with that, the system asserts both. */
        if (set(TIOCM_DTR | TIOCM_RTS))
            return -1;
    } else if (request == TIOCMGET && is_board(fd)) {
        *(int *)argument = lines;
        return 0;
    } else if (request == TIOCMSET && is_board(fd)) {
        return set(*(int *)argument);
    } else if (request == TIOCMBIS && is_board(fd)) {
        return set(lines | *(int *)argument);
    } else if (request == TIOCMBIC && is_board(fd)) {
        return set(lines & ~*(int *)argument);
    }
    return system_call(fd, request, argument);
}
