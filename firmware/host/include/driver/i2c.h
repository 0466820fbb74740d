#pragma once

// The older driver: boards include it and use the newer one.
#include "driver/i2c_types.h"
