#!/usr/bin/env python3
# The greeter in Python, with nothing but its standard library.
import json
import sys

MANIFEST = {
    "name": "greeter", "version": "1.0.0", "protocolVersion": "0.0.1", "description": "Says hello",
    "operations": {"greet": {"description": "Say hello", "params": {
        "type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "times": {"type": "integer", "default": 1}}}}},
}


greeted = False


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def error(code, message):
    return {"error": {"code": code, "message": message}}


# Without a handshake the answer is all that may be on stdout.
def log(level, message, data):
    if greeted:
        send({"method": "log", "params": {"level": level, "message": message, "data": data}})
    else:
        print(level, message, json.dumps(data), file=sys.stderr)


def greet(args):
    if not isinstance(args, dict) or not isinstance(args.get("name"), str):
        return error(-32602, "Invalid params: name: a string expected")
    log("info", "greeting", {"name": args["name"]})
    if args["name"] == "":
        return {"result": {"success": False, "message": "nobody to greet", "error": "nobody to greet"}}
    return {"result": {"success": True, "message": "Hello, " + args["name"]}}


def execute(params):
    if not isinstance(params, dict) or "operation" not in params:
        return error(-32602, "Invalid params: operation is missing")
    if params["operation"] != "greet":
        return error(-32601, f"Unknown operation: {params['operation']}")
    return greet(params.get("args"))


def answer(method, params):
    global greeted
    if method == "initialize":
        greeted = True
        return {"result": MANIFEST}
    if method == "shutdown":
        return {"result": {}}
    if method == "execute":
        return execute(params)
    return error(-32601, "Method not found: " + method)


# The answer to a line, if it gets one: notifications do not, nor do answers to what was never asked.
def handle(line):
    try:
        request = json.loads(line)
    except ValueError as problem:
        return {"id": None, **error(-32700, f"Parse error: {problem}")}
    if not isinstance(request, dict):
        return {"id": None, **error(-32600, "Invalid Request: an object expected")}
    if "id" not in request or "result" in request or "error" in request:
        return None
    if not isinstance(request.get("method"), str):
        return {"id": request["id"], **error(-32600, "Invalid Request: method: a string expected")}
    return {"id": request["id"], **answer(request["method"], request.get("params"))}


for line in sys.stdin:
    reply = handle(line) if line.strip() else None
    if reply:
        send(reply)
    if reply and reply.get("result") == {}:
        break
