#pragma once
#include "../../lvgl_theme.h"
