// Takes the place of main/boards/common/dual_network_board.h: of its two networks there is Wi-Fi.
#ifndef DUAL_NETWORK_BOARD_H
#define DUAL_NETWORK_BOARD_H

#include <esp_log.h>

#include "ml307_board.h"
#include "wifi_board.h"

enum class NetworkType { WIFI, ML307 };

class DualNetworkBoard : public WifiBoard {
public:
    template <class... Arguments>
    DualNetworkBoard(Arguments&&...) {}

    void SwitchNetworkType() { ESP_LOGW("DualNetworkBoard", "This host has one network only"); }
    NetworkType GetNetworkType() const { return NetworkType::WIFI; }
    Board& GetCurrentBoard() const { return const_cast<DualNetworkBoard&>(*this); }
};

#endif
