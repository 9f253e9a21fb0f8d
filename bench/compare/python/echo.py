"""pylsp-jsonrpc as a plugin: answers every request with its params."""
import sys

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

writer = JsonRpcStreamWriter(sys.stdout.buffer)
endpoint = Endpoint({"echo": lambda params: params}, writer.write)
JsonRpcStreamReader(sys.stdin.buffer).listen(endpoint.consume)
