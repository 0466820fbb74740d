#!/bin/sh
# Takes a board's power away and gives it back, by a relay of the kind LCUS-1 in its supply line (normally
# closed contact: without the relay's own power the board runs).
#
#   usb-relay.sh /dev/mcp-hil/RELAY [SECONDS]
set -eu
port=${1:?which serial port has the relay?}
seconds=${2:-2}

stty -F "$port" 9600 raw -echo
# start, relay 1, state, sum of the three
printf '\240\001\001\242' > "$port"
# Whatever ends this, the board gets its power back.
trap 'printf "\240\001\000\241" > "$port"' EXIT INT TERM
sleep "$seconds"
