// What a chip prints when it fails, and then the end of the program by the signal: a device that
// started again by itself would hide what happened.
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "esp_system.h"
#include "kit.h"

namespace {

struct sigaction earlier[NSIG];

// The linker's names for where this program's own code begins and ends.
extern "C" char __executable_start;
extern "C" char etext;

struct Calls {
    uintptr_t places[24];
    int count = 0;

    // Only places in this program, which its file can explain; those in libraries of the host, such
    // as the end of abort(), are left out.
    explicit Calls(uintptr_t pc) {
        add(pc);
        void* frames[32];
        const int found = backtrace(frames, 32);
        // The first ones are this handler, and what has called it.
        for (int at = 3; at < found; ++at) {
            const auto place = reinterpret_cast<uintptr_t>(frames[at]);
            if (place != pc) {
                // One byte back from where a call returns to is inside the call.
                add(place - 1);
            }
        }
    }

    void add(uintptr_t place) {
        const auto begin = reinterpret_cast<uintptr_t>(&__executable_start);
        const auto end = reinterpret_cast<uintptr_t>(&etext);
        if (place >= begin && place < end && count < 24) {
            places[count++] = place;
        }
    }

    uintptr_t first() const { return count > 0 ? places[0] : 0; }
};

void print_backtrace(const Calls& calls, uintptr_t sp) {
    char text[64];
    kit::print_raw("\n\nBacktrace:");
    for (int at = 0; at < calls.count; ++at) {
        snprintf(text, sizeof text, " 0x%08zx:0x%08zx", static_cast<size_t>(calls.places[at]),
                 static_cast<size_t>(at == 0 ? sp : 0));
        kit::print_raw(text);
    }
    kit::print_raw("\n\n\nELF file SHA256: ");
    char digest[10] = {};
    memcpy(digest, kit::elf_sha256().data(), 9);
    kit::print_raw(digest);
    kit::print_raw("\n\n");
}

void end_by(int signal, siginfo_t* info, void* context) {
    const struct sigaction& next = earlier[signal];
    // A sanitizer was there first: its report says more.
    if ((next.sa_flags & SA_SIGINFO) != 0 && next.sa_sigaction != nullptr) {
        next.sa_sigaction(signal, info, context);
    }
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    raise(signal);
}

void on_signal(int signal, siginfo_t* info, void* context) {
    const auto* machine = static_cast<ucontext_t*>(context);
    uintptr_t pc = 0;
    uintptr_t sp = 0;
    bool store = false;
#if defined(__x86_64__)
    pc = static_cast<uintptr_t>(machine->uc_mcontext.gregs[REG_RIP]);
    sp = static_cast<uintptr_t>(machine->uc_mcontext.gregs[REG_RSP]);
    store = (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#elif defined(__aarch64__)
    pc = machine->uc_mcontext.pc;
    sp = machine->uc_mcontext.sp;
#endif
    const Calls calls(pc);
    char text[256];
    const char* task = signal == SIGSEGV || signal == SIGBUS
                           ? kit::task_whose_stack_ended_at(info->si_addr)
                           : nullptr;
    if (task != nullptr) {
        snprintf(text, sizeof text,
                 "\n***ERROR*** A stack overflow in task %s has been detected.\n", task);
    } else if (signal == SIGABRT) {
        snprintf(text, sizeof text, "\nabort() was called at PC 0x%08zx on core 0\n",
                 static_cast<size_t>(calls.first()));
    } else {
        const char* cause = signal == SIGILL   ? "IllegalInstruction"
                            : signal == SIGFPE ? "IntegerDivideByZero"
                            : store            ? "StoreProhibited"
                                               : "LoadProhibited";
        snprintf(text, sizeof text,
                 "\nGuru Meditation Error: Core  0 panic'ed (%s). Exception was unhandled.\n"
                 "PC: 0x%08zx  EXCVADDR: %p  task: %s\n",
                 cause, static_cast<size_t>(pc), info->si_addr, kit::current_task_name());
    }
    kit::print_raw(text);
    print_backtrace(calls, sp);
    end_by(signal, info, context);
}

}  // namespace

void kit::use_alternate_signal_stack() {
#ifndef KIT_SANITIZE
    constexpr size_t size = 64 * 1024;
    stack_t stack = {};
    stack.ss_sp = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack.ss_size = size;
    sigaltstack(&stack, nullptr);
#endif
}

void kit::install_panic_handlers() {
    // The first call of backtrace() loads a library, which a signal handler must not.
    void* frame[1];
    backtrace(frame, 1);
    kit::elf_sha256();
    use_alternate_signal_stack();
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
        sigaction(signal, &action, &earlier[signal]);
    }
    signal(SIGPIPE, SIG_IGN);
}

extern "C" {

void kit_error_check_failed(esp_err_t rc, const char* file, int line, const char* function,
                            const char* expression) {
    char text[1024];
    snprintf(text, sizeof text,
             "ESP_ERROR_CHECK failed: esp_err_t 0x%x (%s) at %p\n"
             "file: \"%s\" line %d\nfunc: %s\nexpression: %s\n",
             static_cast<unsigned>(rc), esp_err_to_name(rc), __builtin_return_address(0), file,
             line, function, expression);
    kit::print(text);
    abort();
}

void esp_system_abort(const char* details) {
    kit::print(std::string(details) + "\n");
    abort();
}

// In the place of the C library's, whose text is another one.
void __assert_fail(const char* expression, const char* file, unsigned int line,
                   const char* function) {
    char text[1024];
    snprintf(text, sizeof text, "\nassert failed: %s %s:%u (%s)\n", function, file, line,
             expression);
    kit::print(text);
    abort();
}

}  // extern "C"
