#!/bin/sh
# The greeter in plain sh and sed. Names stay as JSON writes them, so nothing has to be unescaped; that works for
# messages like pintle's own, on one line, without spaces between their parts and with these in that order. All else is
# refused.

manifest='{"name":"greeter","version":"1.0.0","protocolVersion":"0.0.1","description":"Says hello","operations":{
"greet":{"description":"Say hello","params":{"type":"object","required":["name"],"properties":{
"name":{"type":"string"},"times":{"type":"integer","default":1}}}}}}'

send() { printf '{"jsonrpc":"2.0",%s}\n' "$1" | tr -d '\n' && echo; }
answer() { send "\"id\":$id,$1"; }
refuse() { answer "\"error\":{\"code\":$1,\"message\":\"$2\"}"; }

# Without a handshake the answer is all that may be on stdout.
log() {
  if [ -n "$greeted" ]; then
    send "\"method\":\"log\",\"params\":{\"level\":\"$1\",\"message\":\"$2\",\"data\":$3}"
  else
    printf '%s %s %s\n' "$1" "$2" "$3" >&2
  fi
}

# A string by its name, out of a part of the line.
member() { sed -n 's/.*"'"$1"'":"\([^"\\]*\(\\.[^"\\]*\)*\)".*/\1/p'; }
before_args() { printf '%s\n' "$line" | sed 's/"args":{.*//'; }
args() { printf '%s\n' "$line" | sed 's/,"context":{.*//; s/.*"args":{//'; }

greet() {
  case $(args) in *'"name":"'*) ;; *) refuse -32602 'Invalid params: name is missing' && return ;; esac
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
    '') refuse -32602 'Invalid params: operation is missing' ;;
    *) refuse -32601 "Unknown operation: $operation" ;;
  esac
}

call() {
  id=$(printf '%s\n' "$line" | sed 's/^{"jsonrpc":"2.0","id":\([^,]*\),.*/\1/')
  method=$(printf '%s\n' "$line" | sed -n 's/^[^,]*,"id":[^,]*,"method":"\([^"]*\)".*/\1/p')
  case $method in
    initialize) answer "\"result\":$manifest" && greeted=yes ;;
    execute) execute ;;
    shutdown) answer '"result":{}' && exit 0 ;;
    '') refuse -32600 'Invalid Request' ;;
    *) refuse -32601 "Method not found: $method" ;;
  esac
}

# Notifications get no answer, nor do answers to what was never asked.
greeted=
while IFS= read -r line; do
  line=${line%"$(printf '\r')"}
  id=null
  case $line in
    '' | '{"jsonrpc":"2.0","method":'*'}') ;;
    '{"jsonrpc":"2.0","id":'*',"result":'*'}' | '{"jsonrpc":"2.0","id":'*',"error":'*'}') ;;
    '{"jsonrpc":"2.0","id":'*'}') call ;;
    '{'*'}' | '['*']') refuse -32600 'Invalid Request, or not in the one form that is read here' ;;
    *) refuse -32700 'Not JSON' ;;
  esac
done
