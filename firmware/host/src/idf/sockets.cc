// Where sockets of the host differ from lwIP's. The linker routes these calls here.
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

// Longest wait for other tasks.
constexpr std::chrono::milliseconds patience{100};

// Whether a task runs, or waits for a processor.
bool is_ready(const char* task) {
    char text[128];
    snprintf(text, sizeof text, "/proc/self/task/%s/stat", task);
    const int file = open(text, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    text[got < 0 ? 0 : got] = '\0';
    // Its name, in brackets, may hold anything.
    const char* state = strrchr(text, ')');
    return state != nullptr && strncmp(state, ") R", 3) == 0;
}

bool others_are_ready() {
    const long own = syscall(SYS_gettid);
    DIR* tasks = opendir("/proc/self/task");
    if (tasks == nullptr) {
        return false;
    }
    bool ready = false;
    while (const dirent* task = readdir(tasks)) {
        const long id = atol(task->d_name);
        ready = ready || (id > 0 && id != own && is_ready(task->d_name));
    }
    closedir(tasks);
    return ready;
}

// The task that calls this has the lowest priority: it goes on where no other has anything to do.
void let_others_go_on(std::chrono::milliseconds least) {
    const auto until = std::chrono::steady_clock::now() + patience;
    do {
        std::this_thread::sleep_for(least);
        least = std::chrono::milliseconds(1);
    } while (others_are_ready() && std::chrono::steady_clock::now() < until);
}

}  // namespace

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
// a connection, which each task here receives for one connection, take that long here too, and
// longer on a busy host.
ssize_t __wrap_recv(int fd, void* buffer, size_t length, int flags) {
    static thread_local bool answered = false;
    const ssize_t got = __real_recv(fd, buffer, length, flags);
    if (got > 0 && !answered) {
        answered = true;
        let_others_go_on(std::chrono::milliseconds(3));
    }
    // The task that receives has the lowest priority: whoever waits for the answer has taken it, and closed, before
    // this task sees that the server has closed as well.
    if (got == 0) {
        let_others_go_on(std::chrono::milliseconds(20));
    }
    return got;
}

// The firmware sets its clock to what the server says. The host keeps its own.
int __wrap_settimeofday(const struct timeval*, const struct timezone*) { return 0; }

}  // extern "C"
