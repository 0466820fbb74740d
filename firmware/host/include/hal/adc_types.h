#pragma once

typedef enum { ADC_UNIT_1, ADC_UNIT_2 } adc_unit_t;
typedef enum {
    ADC_CHANNEL_0,
    ADC_CHANNEL_1,
    ADC_CHANNEL_2,
    ADC_CHANNEL_3,
    ADC_CHANNEL_4,
    ADC_CHANNEL_5,
    ADC_CHANNEL_6,
    ADC_CHANNEL_7,
    ADC_CHANNEL_8,
    ADC_CHANNEL_9
} adc_channel_t;
typedef enum { ADC_ATTEN_DB_0, ADC_ATTEN_DB_2_5, ADC_ATTEN_DB_6, ADC_ATTEN_DB_12, ADC_ATTEN_DB_11 = 3 } adc_atten_t;
typedef enum {
    ADC_BITWIDTH_DEFAULT,
    ADC_BITWIDTH_9 = 9,
    ADC_BITWIDTH_10,
    ADC_BITWIDTH_11,
    ADC_BITWIDTH_12,
    ADC_BITWIDTH_13
} adc_bitwidth_t;
typedef enum { ADC_ULP_MODE_DISABLE, ADC_ULP_MODE_FSM, ADC_ULP_MODE_RISCV } adc_ulp_mode_t;
typedef int adc_oneshot_clk_src_t;
#define ADC_RTC_CLK_SRC_DEFAULT 0
#define ADC_DIGI_CLK_SRC_DEFAULT 0
