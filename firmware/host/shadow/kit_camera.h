// The camera of the kit, in the place of those that drivers make: its picture is grey, and is
// really uploaded, part by part, through the firmware's own HTTP client.
#pragma once

#include <string>

#include "camera.h"

class KitCamera : public Camera {
public:
    void SetExplainUrl(const std::string& url, const std::string& token) override;
    bool Capture() override;
    bool SetHMirror(bool) override { return true; }
    bool SetVFlip(bool) override { return true; }
    std::string Explain(const std::string& question) override;

private:
    std::string url_;
    std::string token_;
    std::string picture_;
};
