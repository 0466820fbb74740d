#include <nvs_flash.h>

#include "application.h"

extern "C" void app_main(void) {
    ESP_ERROR_CHECK(nvs_flash_init());
    auto& application = Application::GetInstance();
    application.Initialize();
    application.Run();
}
