#pragma once
#include "esp_transport.h"
