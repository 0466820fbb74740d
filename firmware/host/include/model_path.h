#pragma once

typedef struct {
    char **model_name;
    int num;
} srmodel_list_t;
