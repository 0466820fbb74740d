// A headless board with a lamp: the firmware's own controller.
#include <esp_log.h>

#include "host_board.h"
#include "mcp_server.h"

#include <driver/gpio.h>

#include "lamp_controller.h"

class LampBoard : public HostBoard {
    LampController lamp_{GPIO_NUM_18};
};

DECLARE_BOARD(LampBoard)
