#pragma once
#include "../../lvgl_image.h"
