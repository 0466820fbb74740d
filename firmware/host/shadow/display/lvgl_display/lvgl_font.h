#pragma once
#include "../../lvgl_font.h"
