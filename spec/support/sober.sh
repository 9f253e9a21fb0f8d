#!/bin/sh
# A plugin that is started in no time: its one operation is `go`.
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }

while read -r line; do
  id=${line#*\"id\":} id=${id%%,*}
  case $line in
    *'"method":"initialize"'*)
      answer '{"name":"sober","version":"1.0.0","protocolVersion":"0.0.1","operations":{"go":{"params":{}}}}'
      ;;
    *'"method":"shutdown"'*)
      answer '{}'
      exit 0
      ;;
    *) answer '{"success":true}' ;;
  esac
done
