#pragma once
#include "../../lvgl_display.h"
