// Versions before 2.3 include this for the symbols on their displays. Nothing is shown here.
#pragma once
