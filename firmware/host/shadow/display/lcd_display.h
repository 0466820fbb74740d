#pragma once
#include "../lcd_display.h"
