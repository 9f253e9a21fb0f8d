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


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def log(level, message, data):
    send({"method": "log", "params": {"level": level, "message": message, "data": data}})


def greet(args):
    log("info", "greeting", {"name": args["name"]})
    if args["name"] == "":
        return {"success": False, "message": "nobody to greet", "error": "nobody to greet"}
    return {"success": True, "message": "Hello, " + args["name"]}


def answer(method, params):
    if method == "initialize":
        return {"result": MANIFEST}
    if method == "shutdown":
        return {"result": {}}
    if method != "execute":
        return {"error": {"code": -32601, "message": "Method not found: " + method}}
    if params["operation"] != "greet":
        return {"error": {"code": -32601, "message": "Unknown operation: " + params["operation"]}}
    return {"result": greet(params["args"])}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    send({"id": request["id"], **answer(request["method"], request.get("params"))})
    if request["method"] == "shutdown":
        break
