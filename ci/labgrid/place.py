#!/usr/bin/env python3
"""Acquires a place of labgrid, runs a command with the device's file of its board, releases it.

    ci/labgrid/place.py PLACE [--firmware FILE] [--transport NAME]... -- mcp-hil run --dut {}

`{}` becomes the path of the file. The exit code is that of the command, or 3 when the place cannot be
had: the bench is not the device. labgrid's coordinator is named by LG_COORDINATOR.
"""

import argparse
import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

BENCH = 3
CLASS = "McpHilBoard"
MEMBERS = ["serial", "mac", "location", "port", "chip", "flash_size", "console"]


def fail(text, hint):
    print(f"place.py: {text}\n\nhint: {hint}", file=sys.stderr)
    sys.exit(BENCH)


def client(place, *words):
    program = shlex.split(os.environ.get("LABGRID_CLIENT", "labgrid-client"))
    command = [*program, "-p", place, *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        fail(f"cannot start `{command[0]}`: {error}", "install it: `pip install -r ci/python.txt`")
    except subprocess.TimeoutExpired:
        fail(f"`{' '.join(command)}` takes longer than 60 s", "is the coordinator running?")
    return done


def board(place):
    """What the exporter tells of the board at the place."""
    shown = client(place, "show").stdout
    # As labgrid prints it: a name, and a dictionary in Python's notation.
    for found in re.finditer(r"^Acquired resource .*:\n((?:  .*\n?)+)", shown, re.MULTILINE):
        resource = ast.literal_eval(found.group(1).strip())
        if resource["cls"] == CLASS:
            return resource["params"]
    fail(f"the place `{place}` has no `{CLASS}`", "check `labgrid-client resources`, and `add-match`")


def text_of(place, told, args):
    lines = [f"name = {json.dumps(place)}", 'target = "board"']
    if args.firmware:
        lines.append(f"firmware = {json.dumps(os.path.abspath(args.firmware))}")
    if args.transport:
        lines.append(f"transports = {json.dumps(args.transport)}")
    lines.append("\n[board]")
    lines += [f"{member} = {json.dumps(told[member])}" for member in MEMBERS if member in told]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("place")
    parser.add_argument("--firmware", help="what to flash")
    parser.add_argument("--transport", action="append", help="websocket or mqtt (repeatable)")
    parser.add_argument("command", nargs="+", help="after `--`")
    args = parser.parse_args()

    acquired = client(args.place, "acquire")
    if acquired.returncode != 0:
        why = (acquired.stderr or acquired.stdout).strip()
        fail(f"cannot acquire `{args.place}`: {why}", "`labgrid-client who` shows who uses it")
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f"{args.place}.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text_of(args.place, board(args.place), args))
            command = [path if word == "{}" else word for word in args.command]
            return subprocess.run(command, check=False).returncode
    finally:
        client(args.place, "release")


if __name__ == "__main__":
    sys.exit(main())
