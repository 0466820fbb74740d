#pragma once

// On chips whose radio is another chip.
#include "esp_wifi.h"
