// Takes the place of main/boards/common/ethernet_board.h: the network is the host's.
#ifndef ETHERNET_BOARD_H
#define ETHERNET_BOARD_H

#include "wifi_board.h"

class EthernetBoard : public WifiBoard {
public:
    template <class... Arguments>
    EthernetBoard(Arguments&&...) {}
};

#endif
