// Takes the place of main/boards/common/ml307_board.h: the network is the host's.
#ifndef ML307_BOARD_H
#define ML307_BOARD_H

#include "wifi_board.h"

class Ml307Board : public WifiBoard {
public:
    template <class... Arguments>
    Ml307Board(Arguments&&...) {}
};

#endif
