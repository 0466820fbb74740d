#pragma once

#include "esp_adc/adc_cali.h"

#if CONFIG_IDF_TARGET_ESP32
#define ADC_CALI_SCHEME_LINE_FITTING_SUPPORTED 1
#else
#define ADC_CALI_SCHEME_CURVE_FITTING_SUPPORTED 1
#endif

typedef struct {
    adc_unit_t unit_id;
    adc_channel_t chan;
    adc_atten_t atten;
    adc_bitwidth_t bitwidth;
} adc_cali_curve_fitting_config_t;
typedef struct {
    adc_unit_t unit_id;
    adc_atten_t atten;
    adc_bitwidth_t bitwidth;
    uint32_t default_vref;
} adc_cali_line_fitting_config_t;

static inline esp_err_t adc_cali_create_scheme_curve_fitting(const adc_cali_curve_fitting_config_t *config,
                                                             adc_cali_handle_t *out) {
    return (void)config, KIT_NEW(out);
}
static inline esp_err_t adc_cali_delete_scheme_curve_fitting(adc_cali_handle_t handle) {
    return (void)handle, ESP_OK;
}
static inline esp_err_t adc_cali_create_scheme_line_fitting(const adc_cali_line_fitting_config_t *config,
                                                            adc_cali_handle_t *out) {
    return (void)config, KIT_NEW(out);
}
static inline esp_err_t adc_cali_delete_scheme_line_fitting(adc_cali_handle_t handle) {
    return (void)handle, ESP_OK;
}
