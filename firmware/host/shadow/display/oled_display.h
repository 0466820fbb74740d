#pragma once
#include "../oled_display.h"
