#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "driver/gpio.h"

typedef enum { I2C_NUM_0, I2C_NUM_1, I2C_NUM_MAX } i2c_port_t;
typedef int i2c_port_num_t;
typedef enum { I2C_CLK_SRC_DEFAULT, I2C_CLK_SRC_XTAL, I2C_CLK_SRC_RC_FAST } i2c_clock_source_t;
typedef enum { I2C_ADDR_BIT_LEN_7, I2C_ADDR_BIT_LEN_10 } i2c_addr_bit_len_t;
typedef struct kit_i2c_bus *i2c_master_bus_handle_t;
typedef struct kit_i2c_device *i2c_master_dev_handle_t;
