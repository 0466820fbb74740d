#pragma once
#include "esp_partition.h"
