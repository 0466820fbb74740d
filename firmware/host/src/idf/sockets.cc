// Where sockets of the host differ from lwIP's. The linker routes these calls here.
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <thread>

extern "C" {

int __real_close(int fd);
ssize_t __real_recv(int fd, void* buffer, size_t length, int flags);

// Closing a socket of lwIP wakes the task that reads from it. On Linux only a shutdown does.
int __wrap_close(int fd) {
    shutdown(fd, SHUT_RDWR);
    return __real_close(fd);
}

// A server on the same machine answers before the task that has sent the request could go on; on a
// board the sender has the higher priority and the network takes milliseconds. The first bytes of
// a connection, which each task here receives for one connection, take that long here too.
ssize_t __wrap_recv(int fd, void* buffer, size_t length, int flags) {
    static thread_local bool answered = false;
    const ssize_t got = __real_recv(fd, buffer, length, flags);
    if (got > 0 && !answered) {
        answered = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    // The task that receives has the lowest priority: whoever waits for the answer has taken it, and closed, before
    // this task sees that the server has closed as well.
    if (got == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return got;
}

// The firmware sets its clock to what the server says. The host keeps its own.
int __wrap_settimeofday(const struct timeval*, const struct timezone*) { return 0; }

}  // extern "C"
