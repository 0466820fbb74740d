// A board with a display.
#include "display_board.h"

DECLARE_BOARD(DisplayBoard)
