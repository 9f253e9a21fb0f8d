#!/bin/sh
# The greeter in plain sh and sed. Names stay as JSON writes them, so nothing has to be unescaped; that works for
# messages like pintle's own, on one line and without spaces between their parts.

manifest='{"name":"greeter","version":"1.0.0","protocolVersion":"0.0.1","description":"Says hello","operations":{
"greet":{"description":"Say hello","params":{"type":"object","required":["name"],"properties":{
"name":{"type":"string"},"times":{"type":"integer","default":1}}}}}}'

send() { printf '{"jsonrpc":"2.0",%s}\n' "$1" | tr -d '\n' && echo; }
answer() { send "\"id\":$id,$1"; }
log() { send "\"method\":\"log\",\"params\":{\"level\":\"$1\",\"message\":\"$2\",\"data\":$3}"; }

# A string by its name, out of a part of the line.
member() { sed -n 's/.*"'"$1"'":"\([^"\\]*\(\\.[^"\\]*\)*\)".*/\1/p'; }
before_args() { printf '%s\n' "$line" | sed 's/"args":{.*//'; }
args() { printf '%s\n' "$line" | sed 's/,"context":{.*//; s/.*"args":{//'; }

greet() {
  name=$(args | member name)
  log info greeting "{\"name\":\"$name\"}"
  if [ -z "$name" ]; then
    answer '"result":{"success":false,"message":"nobody to greet","error":"nobody to greet"}'
  else
    answer "\"result\":{\"success\":true,\"message\":\"Hello, $name\"}"
  fi
}

execute() {
  operation=$(before_args | member operation)
  case $operation in
    greet) greet ;;
    *) answer "\"error\":{\"code\":-32601,\"message\":\"Unknown operation: $operation\"}" ;;
  esac
}

while IFS= read -r line; do
  id=$(printf '%s\n' "$line" | sed 's/^{"jsonrpc":"2.0","id":\([^,]*\),.*/\1/')
  method=$(printf '%s\n' "$line" | sed 's/^[^,]*,"id":[^,]*,"method":"\([^"]*\)".*/\1/')
  case $method in
    initialize) answer "\"result\":$manifest" ;;
    execute) execute ;;
    shutdown) answer '"result":{}' && exit 0 ;;
    *) answer "\"error\":{\"code\":-32601,\"message\":\"Method not found: $method\"}" ;;
  esac
done
