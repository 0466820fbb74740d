// A board of this firmware, and the tools that it adds.
#pragma once

#include <string>
#include <vector>

struct BoardTool {
    const char* name;
    const char* description;
    std::string (*call)();
};

class Board {
public:
    virtual ~Board() = default;
    virtual std::vector<BoardTool> Tools() const = 0;
};

// None, unless a folder of boards is built in.
Board* create_board();

#define DECLARE_BOARD(name)   \
    Board* create_board() {   \
        static name board;    \
        return &board;        \
    }
