// Takes the place of main/boards/common/nt26_board.h: the network is the host's.
#ifndef NT26_BOARD_H
#define NT26_BOARD_H

#include "wifi_board.h"

class Nt26Board : public WifiBoard {
public:
    template <class... Arguments>
    Nt26Board(Arguments&&...) {}
};

#endif
