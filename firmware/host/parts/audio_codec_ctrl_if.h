#pragma once
#include "esp_codec_dev_defaults.h"
