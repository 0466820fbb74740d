// A board with a tool of its own, for tests of boards that are built in.
#include <esp_log.h>

#include "board.h"
#include "config.h"

class OwnBoard : public Board {
public:
    OwnBoard() {
        ESP_LOGI("OwnBoard", "Board %s for %s", BOARD_NAME, CONFIG_IDF_TARGET);
        gpio_set_direction(LAMP_PIN, GPIO_MODE_OUTPUT);
        gpio_set_level(LAMP_PIN, 1);
    }

    std::vector<BoardTool> Tools() const override {
        return {{"self." CONFIG_OWN_BOARD_NAME ".get_state", "Whether the lamp is lit", State}};
    }

private:
    static std::string State() { return gpio_get_level(LAMP_PIN) != 0 ? "true" : "false"; }
};

DECLARE_BOARD(OwnBoard)
