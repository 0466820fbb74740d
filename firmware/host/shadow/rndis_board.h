// Takes the place of main/boards/common/rndis_board.h: the network is the host's.
#ifndef RNDIS_BOARD_H
#define RNDIS_BOARD_H

#include "wifi_board.h"

class RndisBoard : public WifiBoard {
public:
    template <class... Arguments>
    RndisBoard(Arguments&&...) {}
};

#endif
