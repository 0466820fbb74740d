#pragma once
#include "driver/i2s_common.h"
