"""pylsp-jsonrpc as a host: host.py MODE SECONDS N PLUGIN…"""
import gc
import json
import subprocess
import sys
import threading
from time import perf_counter as now

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

BETWEEN_LOOKS = 100  # calls from one look at the clock to the next
SMALL = {"n": 123, "s": "hello world", "list": [1, 2, 3]}

mode, seconds, n, command = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]


class Peer:
    def __init__(self):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.endpoint = Endpoint({}, JsonRpcStreamWriter(self.child.stdin).write)
        reader = JsonRpcStreamReader(self.child.stdout)
        self.reading = threading.Thread(target=reader.listen, args=[self.endpoint.consume])
        self.reading.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait()
        self.reading.join()
        self.child.stdout.close()
        self.endpoint.shutdown()

    def ask(self, params):
        return self.endpoint.request("echo", params)

    def call(self, params):
        return self.ask(params).result()


def time(step):
    step()
    count, begun = 0, now()
    while True:
        step()
        count += 1
        spent = now() - begun
        if spent >= seconds:
            return spent / count


def sequential():
    def step():
        for _ in range(BETWEEN_LOOKS):
            peer.call(SMALL)

    with Peer() as peer:
        return time(step) / BETWEEN_LOOKS


def flight():
    """Each answer asks again, where it arrives."""
    calls, under_way, done = 0, n, threading.Event()

    def answered(_):
        nonlocal calls, under_way
        calls += 1
        if now() < stop:
            peer.ask(SMALL).add_done_callback(answered)
            return
        under_way -= 1
        if under_way == 0:
            done.set()

    with Peer() as peer:
        begun = now()
        stop = begun + seconds
        for _ in range(n):
            peer.ask(SMALL).add_done_callback(answered)
        done.wait()
        return calls / (now() - begun)


def string():
    line = "the quick brown fox jumps over the lazy dog "
    params = {"s": (line * (n // len(line) + 1))[:n]}
    with Peer() as peer:
        return len(json.dumps(params)) / time(lambda: peer.call(params))


def start():
    times, stop = [], now() + seconds
    while not times or now() < stop:
        begun = now()
        with Peer() as peer:
            peer.call(SMALL)
            times.append(now() - begun)
    return sorted(times)[len(times) // 2]


def memory():
    with Peer() as peer:
        peer.call(SMALL)
        gc.collect()
        with open(f"/proc/{peer.child.pid if n == 0 else 'self'}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096 / 1e6


print({"sequential": sequential, "flight": flight, "string": string, "start": start, "memory": memory}[mode]())
