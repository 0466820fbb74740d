// A board with a display and a camera.
#include "display_board.h"
#include "kit_camera.h"

class CameraBoard : public DisplayBoard {
public:
    Camera* GetCamera() override {
        static KitCamera camera;
        return &camera;
    }
};

DECLARE_BOARD(CameraBoard)
