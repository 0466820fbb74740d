// A headless board: a speaker and nothing else.
#include "host_board.h"

DECLARE_BOARD(HostBoard)
