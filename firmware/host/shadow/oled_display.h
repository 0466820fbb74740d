#pragma once

#include "lvgl_display.h"

// Asked for with dynamic_cast only: no board of this kit has one.
class OledDisplay : public LvglDisplay {};
