#!/bin/sh
# Runs one engine until its own stdin ends, then ends all that the engine has started and removes the engine's folder:
# keeper.sh FOLDER COMMAND…
# stdin ends with the spec's process, however that ends. The output of the engine goes to FOLDER/log. If there is a
# script FOLDER/stop, it is run first: it ends what is not a descendant of the keeper.
folder=$1
shift

env PINTLE_ENGINE="$folder" TMPDIR="$folder" "$@" >> "$folder/log" 2>&1 < /dev/null &
engine=$!

# descendants PID -> its children, theirs, and so on; a process is listed after its parent
descendants() {
  # shellcheck disable=SC2013 # the list of children is one line of words
  for child in $(cat "/proc/$1/task/"*/children 2> /dev/null); do
    echo "$child"
    descendants "$child"
  done
}

# The processes that have inherited the variable PINTLE_ENGINE or a directory in the folder, whatever their parent is.
marked() {
  {
    grep -lzx "PINTLE_ENGINE=$folder" /proc/[0-9]*/environ
    find /proc/[0-9]*/cwd -prune -lname "$folder/*" -print
  } 2> /dev/null | cut -d / -f 3
}

kill_all() {
  found=$({ echo "$engine"; descendants "$engine"; marked; } | sort -u)
  # shellcheck disable=SC2086 # one word a process
  kill -STOP $found 2> /dev/null
  found=$({ echo "$engine"; descendants "$engine"; marked; } | sort -u)
  # shellcheck disable=SC2086
  kill -KILL $found 2> /dev/null
}

cat > /dev/null
[ ! -x "$folder/stop" ] || "$folder/stop" >> "$folder/log" 2>&1
kill_all
wait 2> /dev/null
while [ -n "$(marked)" ]; do kill_all; done
rm -rf "$folder"
