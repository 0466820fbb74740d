#!/bin/sh
# Switches a board's power off and on again, with an LCUS-1 relay in its supply line (normally closed contact:
# the board runs when the relay has no power).
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
