// What happens between reset and app_main() on a board.
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#include <unistd.h>

#include <cstdio>

#include "idf/kit.h"

extern "C" void app_main(void);

#ifdef KIT_SANITIZE
// A device never ends by itself, so that what it holds at its end is no leak.
extern "C" const char* __asan_default_options() {
    return "detect_leaks=0:abort_on_error=0:detect_stack_use_after_return=0:halt_on_error=1";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1:halt_on_error=0"; }
#endif

namespace {

// CONFIG_ESP_MAIN_TASK_STACK_SIZE of the firmware's defaults.
constexpr uint32_t main_stack = 8192;

void main_task(void*) {
    app_main();
    vTaskDelete(nullptr);
}

}  // namespace

int main(int, char** arguments) {
    kit::booted();
    setvbuf(stdout, nullptr, _IOLBF, 0);
    kit::remember_arguments(arguments);
    kit::install_panic_handlers();
    kit::print_boot_banner();
    kit::start_counting_heap();
    xTaskCreate(main_task, "main", main_stack, nullptr, 1, nullptr);
    kit::press_button_in_background();
    while (true) {
        pause();
    }
}
